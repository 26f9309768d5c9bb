// PostgreSQL error codes and their meaning for a write.

/** SQLSTATE of a server error; empty for any other. Bun stores it in `errno`. */
export const stateOf = (fault: unknown): string =>
  fault instanceof Error && "errno" in fault && typeof fault.errno === "string" ? fault.errno : "";

/** SQLSTATE of an undefined table. */
export const NO_TABLE = "42P01";

const clientCode = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

/** The server was unreachable or stopped responding. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Shutdown, crash, startup, too many connections, timeout, unknown outcome, or a read-only standby. */
const GONE = /^(08...|40003|57P0.|53300|25P03|25P04|25006)$/;
/** The connection is unusable, and the outcome of its commit is unknown. */
export const isLost = (fault: unknown): boolean =>
  fault instanceof ConnectionLost ||
  GONE.test(stateOf(fault)) ||
  (stateOf(fault) === "" && /^ERR_POSTGRES_(?!SERVER_ERROR|SYNTAX_ERROR)/.test(clientCode(fault)));

/** Transactions conflicted: this one was rolled back and can be retried. */
export const isCollision = (fault: unknown): boolean => /^(40(?!003)...|55P03|57014)$/.test(stateOf(fault));

/** A violated constraint, a trigger or an invalid value, which concerns one mutation only. */
export const isOwn = (fault: unknown): boolean => /^(22|23|P0)/.test(stateOf(fault));

/** The disk is full: the transaction was rolled back. */
export const isFull = (fault: unknown): boolean => /^(53100|53200|53000|54000)$/.test(stateOf(fault));

/** A consequence of an earlier failed statement. */
export const isEcho = (fault: unknown): boolean => stateOf(fault) === "25P02";

/** Message of an error, without the database URL, which may contain a password. */
export const faultText = (fault: unknown): string => {
  if (!(fault instanceof Error)) return String(fault);
  const state = stateOf(fault);
  return state === "" ? fault.message : `${fault.message} (${state})`;
};
