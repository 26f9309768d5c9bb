// Fenced transactions: one at a time, each only while the lease is valid.
//
// Each transaction raises a counter, from which a lost commit's outcome is read.
import { StoreFull, StoreUnknown } from "../../domain/commit-errors.ts";
import { type Address, type Connection, connect, together, within } from "./connections.ts";
import { faultText, isCollision, isFull, isLost } from "./errors.ts";

/** Another node ended this owner; its generations belong to others. */
export class Fenced extends StoreUnknown {
  override readonly name = "Fenced";
}

/**
 * Work in a transaction. It awaits `begun` with its first responses and before it writes. It returns its value with the pending
 * statements, so that the commit is sent with them.
 */
export type Work<T> = (line: Connection, begun: Promise<unknown>) => Promise<{ value: T; sent: readonly Promise<unknown>[] }>;

export type Writer = {
  /**
   * @throws StoreFull if nothing was written. @throws Fenced, StoreUnknown if this owner must stop. Errors of the work are passed
   * on; nothing of it was written.
   */
  transact<T>(work: Work<T>): Promise<T>;
  close(): void;
};

export type FencedTransactionsDeps = {
  address: Address;
  epoch: number;
  /** Timeout of a transaction in milliseconds, after which its connection is closed. */
  longestMs: number;
  /**
   * Time in milliseconds that the database may be unavailable, or a conflict be retried, before the outcome counts as unknown.
   */
  patienceMs: number;
  /** Whether writes are fenced; false only in a test. */
  minds: boolean;
};

const PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

/** Derived from the transaction counter of the owner, which each transaction raises by one. */
type Verdict = "committed" | "undone";

export const createFencedTransactions = ({ address, epoch, longestMs, patienceMs, minds }: FencedTransactionsDeps): Writer => {
  let connection: Connection | undefined;
  let batch = 0;
  let isClosed = false;
  // A suspended or disconnected session must not keep its locks.
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  // As SET LOCAL, in one statement.
  const bounds = `SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '${longestMs}', true),
    set_config('statement_timeout', '${longestMs}', true), set_config('idle_in_transaction_session_timeout', '${longestMs}', true)`;
  const count = minds
    ? `UPDATE node SET batch = ?2 WHERE epoch = ?1 AND batch = ?2 - 1 AND ended_at_ms IS NULL`
    : `UPDATE node SET batch = ?2 WHERE epoch = ?1`;

  const drop = (): void => {
    connection?.close();
    connection = undefined;
  };
  const fenced = () => new Fenced("another node has taken over the generations of this node; it must not write");

  /** After a lost connection: waits for a transaction that may still run in the database and reads its outcome. */
  const lookUp = async (wanted: number): Promise<Verdict> => {
    const line = await connect(address);
    try {
      return await within(line, longestMs, async () => {
        await line.script(`${begin}; ${bounds}`);
        const { rows } = await line.send<{ batch: number; ended: number }>(
          `SELECT batch, CASE WHEN ended_at_ms IS NULL THEN 0 ELSE 1 END AS ended FROM node WHERE epoch = ?1 FOR UPDATE`,
          epoch,
        );
        await line.script("COMMIT");
        const [found] = rows;
        if (!found) throw fenced();
        if (found.batch >= wanted) return "committed";
        if (found.ended === 1 && minds) throw fenced();
        return "undone";
      });
    } finally {
      line.close();
    }
  };

  /** @param deciding called with the value before the commit is sent. */
  const attempt = async <T>(work: Work<T>, deciding: (value: T) => void): Promise<T> => {
    connection ??= await connect(address);
    const line = connection;
    return await within(line, longestMs, async () => {
      // Behind a pooler without prepared statements, one message of this type replaces two others.
      const opening: Promise<unknown>[] = address.prepare
        ? [line.word(begin), line.word(bounds)]
        : [line.script(`${begin}; ${bounds}`)];
      const counted = line.send(count, epoch, batch + 1).then(({ changes }) => {
        if (changes === 0) throw fenced();
      });
      const begun = together<unknown[]>([...opening, counted]);
      begun.catch(() => undefined);
      const { value, sent } = await work(line, begun);
      await begun;
      deciding(value);
      const ended = line.word("COMMIT");
      await together(sent);
      const { tag } = await ended;
      if (tag !== "COMMIT") throw new Error(`the transaction ended with ${tag}`);
      return value;
    });
  };

  /** Rolls back after an error, so that the connection stays usable. */
  const undo = async (): Promise<void> => {
    await connection?.script("ROLLBACK").catch(drop);
  };

  /** Waits before a retry. @throws StoreUnknown after the time limit. */
  const openPatience = () => {
    const untilMs = performance.now() + patienceMs;
    let pauseMs = PAUSE_MS;
    return async (fault: unknown): Promise<void> => {
      if (isClosed) throw new StoreUnknown("the store is closed");
      if (performance.now() > untilMs) throw new StoreUnknown(`the database does not respond: ${faultText(fault)}`);
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    };
  };

  /** Whether a commit without a response succeeded; queried until the database answers. */
  const wasDone = async (wait: (fault: unknown) => Promise<void>): Promise<boolean> => {
    for (;;)
      try {
        return (await lookUp(batch + 1)) === "committed";
      } catch (fault) {
        // Any other error reveals nothing, so the outcome stays unknown.
        if (fault instanceof Fenced) throw fault;
        await wait(fault);
      }
  };

  const carryOut = async <T>(work: Work<T>): Promise<T> => {
    const wait = openPatience();
    for (;;) {
      if (isClosed) throw new StoreUnknown("the store is closed");
      /** Set when a commit may have been sent. */
      let decided: { value: T } | undefined;
      try {
        const value = await attempt(work, (reported) => {
          decided = { value: reported };
        });
        batch += 1;
        return value;
      } catch (fault) {
        if (fault instanceof Fenced) throw fault;
        if (!isLost(fault)) {
          // The server rejected it: nothing was written.
          await undo();
          if (isFull(fault)) throw new StoreFull(`the database has no free space: ${faultText(fault)}`);
          if (!isCollision(fault)) throw fault;
        } else {
          drop();
          if (decided && (await wasDone(wait))) {
            batch += 1;
            return decided.value;
          }
        }
        await wait(fault);
      }
    }
  };

  /** One transaction at a time, in order of the calls. */
  let last: Promise<unknown> = Promise.resolve();
  const transact = <T>(work: Work<T>): Promise<T> => {
    const turn = last.then(() => carryOut(work));
    last = turn.catch(() => undefined);
    return turn;
  };

  return {
    transact,
    close: () => {
      isClosed = true;
      drop();
    },
  };
};
