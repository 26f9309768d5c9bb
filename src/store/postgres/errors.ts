// What PostgreSQL says when it says no, by its five-character codes, and what each means for what was being written.

/** The code of an error of the server; empty for any other. Bun keeps it in `errno`. */
export const stateOf = (fault: unknown): string =>
  fault instanceof Error && "errno" in fault && typeof fault.errno === "string" ? fault.errno : "";

/** The state of a question about a table that there is not. */
export const NO_TABLE = "42P01";

const clientCode = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

/** The server could not be reached in time, or did not answer any more. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Shut down, crashed, starting, full of connections, cut off by a time-out, not sure itself what was written, or a copy that takes no writes. */
const GONE = /^(08...|40003|57P0.|53300|25P03|25P04|25006)$/;
/** The connection is of no use any more; what it was committing may be written or not. */
export const isLost = (fault: unknown): boolean =>
  fault instanceof ConnectionLost ||
  GONE.test(stateOf(fault)) ||
  (stateOf(fault) === "" && /^ERR_POSTGRES_(?!SERVER_ERROR|SYNTAX_ERROR)/.test(clientCode(fault)));

/** Transactions got into each other's way: this one was rolled back, and may be tried again at once. */
export const isCollision = (fault: unknown): boolean => /^(40(?!003)...|55P03|57014)$/.test(stateOf(fault));

/** A constraint, a trigger or a value that cannot be: it concerns one mutation only. */
export const isOwn = (fault: unknown): boolean => /^(22|23|P0)/.test(stateOf(fault));

/** There is no room: the transaction was rolled back. */
export const isFull = (fault: unknown): boolean => /^(53100|53200|53000|54000)$/.test(stateOf(fault));

/** A statement behind one that failed: not the reason. */
export const isEcho = (fault: unknown): boolean => stateOf(fault) === "25P02";

/** What a fault says, for a message; never the address of the database, which may hold a password. */
export const faultText = (fault: unknown): string => {
  if (!(fault instanceof Error)) return String(fault);
  const state = stateOf(fault);
  return state === "" ? fault.message : `${fault.message} (${state})`;
};
