// PostgreSQL connections: one with pipelined statements for transactions, and a pool for reads.
import { type ReservedSQL, SQL } from "bun";
import { clientAddress } from "../../config/database-url.ts";
import type { Query, Value } from "../sql/sql-program.ts";
import { ConnectionLost, isEcho, isLost } from "./errors.ts";
import { unavailableError } from "./server-requirements.ts";

export type Address = {
  url: string;
  /** False behind a pooler without prepared statements; each statement then takes one more round trip. */
  prepare: boolean;
};

/** Result of a statement; `tag` is PostgreSQL's command tag (`UPDATE`, `COMMIT`, `ROLLBACK`). */
export type Sent<Row> = { rows: Row[]; changes: number; tag: string };

const CONNECT_S = 5;

/** Cache of statements with PostgreSQL placeholders. */
const translated = new Map<string, string>();
const inPostgres = (sql: string): string => {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  const text = sql.replace(/\?(\d+)/g, "$$$1").replace(/ INDEXED BY \w+/g, "");
  translated.set(sql, text);
  return text;
};

/** Eight-byte integers arrive as BigInt; none of ours exceeds 2^53. */
const withNumbers = <Row>(rows: readonly unknown[]): Row[] => {
  for (const row of rows as Record<string, unknown>[])
    for (const name in row) {
      const value = row[name];
      if (typeof value === "bigint") row[name] = Number(value);
    }
  return rows as Row[];
};

/** As an empty template, which Bun prepares; a text without values is not prepared. */
const templateOf = (sql: string): TemplateStringsArray =>
  Object.defineProperty([sql], "raw", { value: [sql] }) as string[] & { raw: string[] };

type Answered = unknown[] & { count: number; command: string };

const open = (address: Address, max: number): SQL => {
  const { url, isPooled } = clientAddress(address.url);
  const prepare = address.prepare && !isPooled;
  return new SQL(url, { max, prepare, bigint: true, connectionTimeout: CONNECT_S, idleTimeout: 0, maxLifetime: 0 });
};

export type Connection = {
  /** Sends a statement after earlier ones without waiting for them. */
  send<Row = unknown>(sql: string, ...values: Value[]): Promise<Sent<Row>>;
  /**
   * Sends a constant statement without values after earlier ones. `send` would use a message type that waits for all earlier
   * responses and blocks later messages.
   */
  word(sql: string): Promise<Sent<unknown>>;
  /** Sends statements without values as one message after all earlier ones are answered. */
  script(sql: string): Promise<void>;
  /** Runs `COPY … FROM STDIN` with rows in the named format. @returns the number of rows. */
  copy(sql: string, rows: string): Promise<number>;
  /** Sends nothing more; unanswered statements fail as lost. */
  close(): void;
};

/** Opens one connection. @throws ConnectionLost or the server's error. */
export const connect = async (address: Address): Promise<Connection> => {
  const sql = open(address, 1);
  const prepares = address.prepare && !clientAddress(address.url).isPooled;
  let line: ReservedSQL;
  try {
    line = await sql.reserve();
  } catch (fault) {
    void sql.close({ timeout: 0 }).catch(() => undefined);
    throw fault;
  }
  let isClosed = false;
  /** Statements after a failed one fail as well, and no caller awaits each of them. */
  const sent = <T>(answer: Promise<T>): Promise<T> => {
    answer.catch(() => undefined);
    return answer;
  };
  const send = async <Row>(text: string, values: Value[]): Promise<Sent<Row>> => {
    if (isClosed) throw new ConnectionLost("the connection is closed");
    const answer = (await line.unsafe(inPostgres(text), values)) as Answered;
    return { rows: withNumbers<Row>(answer), changes: answer.count, tag: answer.command };
  };
  const word = async (text: string): Promise<Sent<unknown>> => {
    if (!prepares) return send(text, []);
    if (isClosed) throw new ConnectionLost("the connection is closed");
    const answer = (await line(templateOf(text))) as Answered;
    return { rows: [...answer], changes: answer.count, tag: answer.command };
  };
  const script = async (text: string): Promise<void> => {
    if (isClosed) throw new ConnectionLost("the connection is closed");
    await line.unsafe(inPostgres(text)).simple();
  };
  const copy = async (text: string, rows: string): Promise<number> => {
    if (isClosed) throw new ConnectionLost("the connection is closed");
    const answer = line.unsafe(text);
    const writer = answer.writable().getWriter();
    // Both fail with the server's error, which is reported once.
    answer.catch(() => undefined);
    await writer.write(rows);
    await writer.close();
    return ((await answer) as Answered).count;
  };
  return {
    send: <Row>(text: string, ...values: Value[]) => sent(send<Row>(text, values)),
    word: (text) => sent(word(text)),
    script: (text) => sent(script(text)),
    copy: (text, rows) => sent(copy(text, rows)),
    close: () => {
      if (isClosed) return;
      isClosed = true;
      void sql.close({ timeout: 0 }).catch(() => undefined);
    },
  };
};

/** Waits for pipelined statements. @throws the first cause, not its consequences in later statements. */
export const together = async <T extends readonly unknown[]>(sent: { [K in keyof T]: Promise<T[K]> }): Promise<T> => {
  const settled = await Promise.allSettled(sent);
  const faults = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (faults.length > 0) throw faults.find((fault) => !isEcho(fault)) ?? faults[0];
  return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value) as unknown as T;
};

/** Runs work on a connection and closes it after a timeout, so that a silent server counts as lost. */
export const within = async <T>(connection: Connection, ms: number, work: () => Promise<T>): Promise<T> => {
  const timer = setTimeout(() => connection.close(), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
};

export type Pool = { query: Query; close(): Promise<void> };

/** Pauses in milliseconds between retries of a read whose connection was lost; a server restart takes a few seconds. */
const PAUSES_MS = [0, 100, 300, 1000, 2000] as const;

/** Maximum duration in milliseconds of a read that only an operator waits for. */
const MAX_READ_MS = 300_000;
/** A read that timed out is retried once, because the read itself may be slow and each retry delays the others. */
const GIVEN_UP_AT_MOST = 2;

/** A read without a response in time. */
class NotAnswered extends ConnectionLost {}

/** Connections of a pool, and the reads that wait for one. */
type Lines = { sql: SQL; waiting: Set<(fault: ConnectionLost) => void> };

/**
 * Opens a pool for reads. A lost connection is replaced. Reads throw DatabaseUnavailable if no connection is possible.
 * @param longestMs timeout after which all connections count as lost, because a server that vanished is silent on each. The other
 * reads are retried on new connections.
 */
export const createPool = (address: Address, size: number, longestMs = MAX_READ_MS): Pool => {
  const openLines = (): Lines => ({ sql: open(address, size), waiting: new Set() });
  let lines = openLines();
  let isClosed = false;
  const giveUp = (given: Lines): void => {
    if (given === lines && !isClosed) lines = openLines();
    void given.sql.close({ timeout: 0 }).catch(() => undefined);
    for (const fail of given.waiting) fail(new ConnectionLost("the connections were given up: one of them did not answer"));
  };
  const request = (text: string, values: Value[]): Promise<Answered> =>
    new Promise((answer, fail) => {
      const mine = lines;
      mine.waiting.add(fail);
      const timer = setTimeout(() => {
        fail(new NotAnswered(`no answer within ${longestMs} ms`));
        giveUp(mine);
      }, longestMs);
      mine.sql
        .unsafe(inPostgres(text), values)
        .then((rows) => answer(rows as Answered), fail)
        .finally(() => {
          clearTimeout(timer);
          mine.waiting.delete(fail);
        });
    });
  const query: Query = async <Row>(text: string, ...values: Value[]): Promise<Row[]> => {
    let givenUp = 0;
    for (let tries = 0; ; tries += 1)
      try {
        return withNumbers<Row>(await request(text, values));
      } catch (fault) {
        if (!isLost(fault)) throw fault;
        if (fault instanceof NotAnswered) givenUp += 1;
        const pause = givenUp < GIVEN_UP_AT_MOST ? PAUSES_MS[tries] : undefined;
        if (pause === undefined || isClosed) throw unavailableError(address.url, "read", fault);
        await Bun.sleep(pause);
      }
  };
  return {
    query,
    close: async () => {
      isClosed = true;
      await lines.sql.close({ timeout: 1 });
    },
  };
};
