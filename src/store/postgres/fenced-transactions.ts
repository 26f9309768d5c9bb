// Transactions of one owner, one after another: each says that its owner still is one, counts itself, and is never taken for undone unseen.
import { StoreFull, StoreUnknown } from "../mutations.ts";
import { type Address, type Connection, connect, together, within } from "./connections.ts";
import { faultText, isCollision, isFull, isLost } from "./errors.ts";

/** This owner was ended by another: whatever it believes to own is somebody else's. */
export class Fenced extends StoreUnknown {
  override readonly name = "Fenced";
}

/**
 * Work in a transaction: it waits for `begun` with the first answers it needs and before it writes anything, and hands back what it came to with the last statements that
 * it sent and did not wait for: the commit goes with them.
 */
export type Work<T> = (line: Connection, begun: Promise<unknown>) => Promise<{ value: T; sent: readonly Promise<unknown>[] }>;

export type Writer = {
  /**
   * @throws StoreFull nothing was written. @throws Fenced, StoreUnknown this owner must stop. Faults of the work itself are passed on:
   * nothing of it was written.
   */
  transact<T>(work: Work<T>): Promise<T>;
  close(): void;
};

export type FencedTransactionsDeps = {
  address: Address;
  epoch: number;
  /** A transaction that takes longer is given up: its connection is closed. */
  longestMs: number;
  /** So long the database may be away, or a collision be tried again, before the outcome is called unknown. */
  patienceMs: number;
  /** Whether it matters that this owner was ended. Only a test says no. */
  minds: boolean;
};

const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** Told by the count of the owner's transactions, which each of them raises by one. */
type Verdict = "committed" | "undone";

export const createFencedTransactions = ({ address, epoch, longestMs, patienceMs, minds }: FencedTransactionsDeps): Writer => {
  let connection: Connection | undefined;
  let batch = 0;
  let isClosed = false;
  // A session that was stopped or cut off in the middle must not keep what it has locked from others.
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  // As SET LOCAL, all of them by one statement.
  const bounds = `SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '${longestMs}', true),
    set_config('statement_timeout', '${longestMs}', true), set_config('idle_in_transaction_session_timeout', '${longestMs}', true)`;
  const count = minds
    ? `UPDATE owner SET batch = ?2 WHERE epoch = ?1 AND batch = ?2 - 1 AND ended_at_ms IS NULL`
    : `UPDATE owner SET batch = ?2 WHERE epoch = ?1`;

  const drop = (): void => {
    connection?.close();
    connection = undefined;
  };
  const fenced = () => new Fenced("another node has taken over what this one owned: it must not write any more");

  /** After a lost connection: waits for what may still be going on in the database, and reads what became of it. */
  const lookUp = async (wanted: number): Promise<Verdict> => {
    const line = await connect(address);
    try {
      return await within(line, longestMs, async () => {
        await line.script(`${begin}; ${bounds}`);
        const { rows } = await line.send<{ batch: number; ended: number }>(
          `SELECT batch, CASE WHEN ended_at_ms IS NULL THEN 0 ELSE 1 END AS ended FROM owner WHERE epoch = ?1 FOR UPDATE`,
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

  /** @param deciding told what the work came to before its commit is sent. */
  const attempt = async <T>(work: Work<T>, deciding: (value: T) => void): Promise<T> => {
    connection ??= await connect(address);
    const line = connection;
    return await within(line, longestMs, async () => {
      // Behind a pooler that knows no prepared statements one message is less than two of any other kind.
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

  /** Ends what a fault left open, so that the connection can be used again. */
  const undo = async (): Promise<void> => {
    await connection?.script("ROLLBACK").catch(drop);
  };

  /** Waits before another try. @throws StoreUnknown when it has taken too long already. */
  const openPatience = () => {
    const untilMs = performance.now() + patienceMs;
    let pauseMs = PAUSE_MS;
    return async (fault: unknown): Promise<void> => {
      if (isClosed) throw new StoreUnknown("the store is closed");
      if (performance.now() > untilMs) throw new StoreUnknown(`the database does not answer: ${faultText(fault)}`);
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    };
  };

  /** Whether a commit was done that nobody has heard of; asked until the database says it. */
  const wasDone = async (wait: (fault: unknown) => Promise<void>): Promise<boolean> => {
    for (;;)
      try {
        return (await lookUp(batch + 1)) === "committed";
      } catch (fault) {
        // Another fault tells as little: what is not known stays so.
        if (fault instanceof Fenced) throw fault;
        await wait(fault);
      }
  };

  const carryOut = async <T>(work: Work<T>): Promise<T> => {
    const wait = openPatience();
    for (;;) {
      if (isClosed) throw new StoreUnknown("the store is closed");
      /** Set once a commit may have been sent. */
      let decided: { value: T } | undefined;
      try {
        const value = await attempt(work, (told) => {
          decided = { value: told };
        });
        batch += 1;
        return value;
      } catch (fault) {
        if (fault instanceof Fenced) throw fault;
        if (!isLost(fault)) {
          // The server has said no: nothing of it is written.
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

  /** One at a time, in the order in which they were asked for. */
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
