// Requirements for a PostgreSQL server, and error messages with host, cause and setting.
import { DatabaseUnavailable, ServerUnfit } from "../errors.ts";
import type { Connection } from "./connections.ts";
import { faultText, stateOf } from "./errors.ts";

const MIN_VERSION = 160_000;
const PORT = "5432";

/** `host:port` of a database address; empty if it is unreadable. User and password are never shown. */
const hostOf = (url: string): string => {
  if (!URL.canParse(url)) return "";
  const { hostname, port } = new URL(url);
  return hostname === "" ? "" : ` at ${hostname}:${port || PORT}`;
};

/** Errors of prepared statements that a pooler in transaction mode causes. */
const OF_A_POOLER = /^(42P05|26000)$/;
const hintOf = (fault: unknown): string =>
  OF_A_POOLER.test(stateOf(fault)) ? "; behind a pooler in transaction mode set GENROUTER_STORE__PREPARED=false" : "";

/** Unknown user or password, missing database, or missing permissions. */
const REFUSES = /^(28|3D|42)/;

/** @param what The failed operation: opened, read, adopted. */
export const unavailableError = (url: string, what: string, fault: unknown): DatabaseUnavailable =>
  new DatabaseUnavailable(
    `the database of GENROUTER_STORE__URL${hostOf(url)} cannot be ${what}: ${faultText(fault)}${hintOf(fault)}`,
    {
      isRejected: REFUSES.test(stateOf(fault)),
      ...(fault instanceof Error ? { cause: fault } : {}),
    },
  );

const SELECT_SETTINGS =
  "SELECT current_setting('server_encoding') AS encoding, CAST(current_setting('server_version_num') AS int) AS version";

/**
 * @param shown Name of the database in the message.
 * @param leastVersion Version number of the server: 160,004 is 16.4.
 * @throws ServerUnfit
 */
export const requireServer = async (line: Connection, shown: string, leastVersion = MIN_VERSION): Promise<void> => {
  const [{ encoding, version } = { encoding: "", version: 0 }] = (
    await line.send<{ encoding: string; version: number }>(SELECT_SETTINGS)
  ).rows;
  if (version < leastVersion)
    throw new ServerUnfit(
      `${shown} is PostgreSQL ${Math.floor(version / 10_000)}; ${Math.floor(leastVersion / 10_000)} or a newer one is needed`,
    );
  if (encoding !== "UTF8")
    throw new ServerUnfit(`${shown} keeps texts as ${encoding}; make one with ENCODING 'UTF8' (TEMPLATE template0)`);
};

/** Runs `requireServer` for the database of the configuration. @throws ServerUnfit */
export const requireConfiguredServer = (line: Connection, url: string, leastVersion?: number): Promise<void> =>
  requireServer(line, `the database of GENROUTER_STORE__URL${hostOf(url)}`, leastVersion);
