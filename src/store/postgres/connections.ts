// Connections to PostgreSQL: one that a transaction runs on, whose statements share journeys, and a pool for reads.
import { type ReservedSQL, SQL } from "bun";
import { clientAddress } from "../../config/database-url.ts";
import type { Query, Value } from "../sql/sql-program.ts";
import { ConnectionLost, isEcho, isLost } from "./errors.ts";
import { unavailableError } from "./server-requirements.ts";

export type Address = {
  url: string;
  /** False behind a pooler that does not know prepared statements: each statement then takes one journey more. */
  prepare: boolean;
};

/** What a statement answered; `tag` is the word PostgreSQL ends it with (`UPDATE`, `COMMIT`, `ROLLBACK`). */
export type Sent<Row> = { rows: Row[]; changes: number; tag: string };

const CONNECT_S = 5;

/** The common placeholders and hints in PostgreSQL's words. */
const translated = new Map<string, string>();
const inPostgres = (sql: string): string => {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  const text = sql.replace(/\?(\d+)/g, "$$$1").replace(/ INDEXED BY \w+/g, "");
  translated.set(sql, text);
  return text;
};

/** Whole numbers of eight bytes arrive as BigInt; none of ours is above 2^53. */
const withNumbers = <Row>(rows: readonly unknown[]): Row[] => {
  for (const row of rows as Record<string, unknown>[])
    for (const name in row) {
      const value = row[name];
      if (typeof value === "bigint") row[name] = Number(value);
    }
  return rows as Row[];
};

/** As what a template with nothing in it is: Bun prepares that, and sends a text without values unprepared. */
const templateOf = (sql: string): TemplateStringsArray =>
  Object.defineProperty([sql], "raw", { value: [sql] }) as string[] & { raw: string[] };

type Answered = unknown[] & { count: number; command: string };

const open = (address: Address, max: number): SQL => {
  const { url, isPooled } = clientAddress(address.url);
  const prepare = address.prepare && !isPooled;
  return new SQL(url, { max, prepare, bigint: true, connectionTimeout: CONNECT_S, idleTimeout: 0, maxLifetime: 0 });
};

export type Connection = {
  /** Sends a statement behind those that were sent before it, without waiting for them. */
  send<Row = unknown>(sql: string, ...values: Value[]): Promise<Sent<Row>>;
  /**
   * Sends a statement that has no values and is always the same, behind those before it. By `send` it would be a message of its own kind,
   * which waits for the answers to all before it and lets none follow before its own.
   */
  word(sql: string): Promise<Sent<unknown>>;
  /** Sends statements without values as one message, when all before it are answered. */
  script(sql: string): Promise<void>;
  /** Carries a `COPY … FROM STDIN` out, with rows in the format that it names. @returns how many it took. */
  copy(sql: string, rows: string): Promise<number>;
  /** Nothing more is sent; what has not been answered fails as lost. */
  close(): void;
};

/** Opens one connection. @throws ConnectionLost, or what the server says. */
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
  /** Those that are sent behind one that fails fail too, and nobody waits for each. */
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
    // Both fail with what the server says; it is told once.
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

/** Waits for statements that were sent one behind another. @throws the reason, not what it brought about in those behind it. */
export const together = async <T extends readonly unknown[]>(sent: { [K in keyof T]: Promise<T[K]> }): Promise<T> => {
  const settled = await Promise.allSettled(sent);
  const faults = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (faults.length > 0) throw faults.find((fault) => !isEcho(fault)) ?? faults[0];
  return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value) as unknown as T;
};

/** Runs work on a connection and closes it when it takes longer, so that a server that says nothing is a lost one. */
export const within = async <T>(connection: Connection, ms: number, work: () => Promise<T>): Promise<T> => {
  const timer = setTimeout(() => connection.close(), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
};

export type Pool = { query: Query; close(): Promise<void> };

/** How often, and after which pauses, a read whose connection was lost is sent again: a server that is restarted takes a few seconds. */
const PAUSES_MS = [0, 100, 300, 1000, 2000] as const;

/** A read for which nobody waits but a person may take minutes. */
const LONGEST_READ_MS = 300_000;
/** A read that was given up itself is sent again once: it may be the read that takes so long, and those beside it pay for each time. */
const GIVEN_UP_AT_MOST = 2;

/** A read was not answered in time. */
class NotAnswered extends ConnectionLost {}

/** The connections of a pool at a time, and how those fail that wait for one of them. */
type Lines = { sql: SQL; waiting: Set<(fault: ConnectionLost) => void> };

/**
 * Opens a pool for reads: any connection takes any statement, and one that was lost is replaced. They throw DatabaseUnavailable when none can be had.
 * @param longestMs a read that takes longer counts as lost, and all connections with it: a server that is gone without a word says nothing
 * on any of them. The other reads are sent again over new ones.
 */
export const createPool = (address: Address, size: number, longestMs = LONGEST_READ_MS): Pool => {
  const openLines = (): Lines => ({ sql: open(address, size), waiting: new Set() });
  let lines = openLines();
  let isClosed = false;
  const giveUp = (given: Lines): void => {
    if (given === lines && !isClosed) lines = openLines();
    void given.sql.close({ timeout: 0 }).catch(() => undefined);
    for (const fail of given.waiting) fail(new ConnectionLost("the connections were given up: one of them did not answer"));
  };
  const ask = (text: string, values: Value[]): Promise<Answered> =>
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
        return withNumbers<Row>(await ask(text, values));
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
