// What a PostgreSQL server has to be, and how a fault of one is told: where it is, what it said, and which setting helps.
import { DatabaseUnavailable, ServerUnfit } from "../errors.ts";
import type { Connection } from "./connections.ts";
import { faultText, stateOf } from "./errors.ts";

const LEAST_VERSION = 160_000;
const PORT = "5432";

/** `host:port` of a database's address; empty for one that cannot be read. Its user and password are nobody's business. */
const hostOf = (url: string): string => {
  if (!URL.canParse(url)) return "";
  const { hostname, port } = new URL(url);
  return hostname === "" ? "" : ` at ${hostname}:${port || PORT}`;
};

/** Names of prepared statements are another's, or unknown: so a pooler answers that hands its connections around. */
const OF_A_POOLER = /^(42P05|26000)$/;
const hintOf = (fault: unknown): string =>
  OF_A_POOLER.test(stateOf(fault)) ? "; behind a pooler in transaction mode set GENROUTER_STORE__PREPARED=false" : "";

/** A user or a password that is not known, no such database, too few rights. */
const REFUSES = /^(28|3D|42)/;

/** @param what it cannot be: opened, read, adopted */
export const unavailableError = (url: string, what: string, fault: unknown): DatabaseUnavailable =>
  new DatabaseUnavailable(
    `the database of GENROUTER_STORE__URL${hostOf(url)} cannot be ${what}: ${faultText(fault)}${hintOf(fault)}`,
    {
      isRefusal: REFUSES.test(stateOf(fault)),
      ...(fault instanceof Error ? { cause: fault } : {}),
    },
  );

const LOOK =
  "SELECT current_setting('server_encoding') AS encoding, CAST(current_setting('server_version_num') AS int) AS version";

/**
 * @param shown what the database is called in the message @param leastVersion as the server says its own: 160,004 is 16.4
 * @throws ServerUnfit
 */
export const insistOnServer = async (line: Connection, shown: string, leastVersion = LEAST_VERSION): Promise<void> => {
  const [{ encoding, version } = { encoding: "", version: 0 }] = (await line.send<{ encoding: string; version: number }>(LOOK))
    .rows;
  if (version < leastVersion)
    throw new ServerUnfit(
      `${shown} is PostgreSQL ${Math.floor(version / 10_000)}; ${Math.floor(leastVersion / 10_000)} or a newer one is needed`,
    );
  if (encoding !== "UTF8")
    throw new ServerUnfit(`${shown} keeps texts as ${encoding}; make one with ENCODING 'UTF8' (TEMPLATE template0)`);
};

/** As `insistOnServer`, of the database that the settings name. @throws ServerUnfit */
export const insistOnOwnServer = (line: Connection, url: string, leastVersion?: number): Promise<void> =>
  insistOnServer(line, `the database of GENROUTER_STORE__URL${hostOf(url)}`, leastVersion);
