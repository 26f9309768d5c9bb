// Hashes and verifies passwords with bounded concurrency and a priority queue.
//
// The bound keeps password guessing from slowing down generations.
import { ConsoleRefused } from "./request-context.ts";

/** Cost of Argon2id. `memoryCost`: KiB. `timeCost`: passes. */
export type PasswordCost = { memoryCost: number; timeCost: number };
/** OWASP's minimum parameters: 19 MiB and two passes, about 25 ms of one core. */
const COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 };
const AT_A_TIME = 2;
/** If more callers wait, the last one is rejected, because it would wait for seconds. */
const MAX_WAITING = 60;
const AGAIN_S = 5;

/** Priority of a call. Lower ranks run first; equal ranks run in order of arrival. */
export type QueuePosition = {
  /** 0 for known users and browsers. */
  rank: number;
  /**
   * Identity of the caller. Each concurrent call of the same identity adds 1 to the rank, so that no identity can fill the queue
   * alone.
   */
  whose: string;
};

export type Passwords = {
  /** Returns the PHC string of a password that the rules allow. @throws ConsoleRefused if too many callers wait */
  hash(password: string, turn: QueuePosition): Promise<string>;
  /**
   * True if the password matches the stored hash. With null it takes the same time and returns false. @throws ConsoleRefused if
   * too many callers wait
   */
  isRight(password: string, kept: string | null, turn: QueuePosition): Promise<boolean>;
};

type Waiting = { rank: number; turn: () => void; reject: (fault: ConsoleRefused) => void };

/** @param cost Lower only in tests, which hash hundreds of passwords. */
export const createPasswords = (cost: PasswordCost = COST): Passwords => {
  const hashOf = (password: string) => Bun.password.hash(password, { algorithm: "argon2id", ...cost });
  let running = 0;
  /** Waiting calls, ordered by rank. */
  const line: Waiting[] = [];
  /** Number of running and waiting calls by identity. */
  const here = new Map<string, number>();
  const leave = (whose: string): void => {
    const left = (here.get(whose) ?? 0) - 1;
    if (left > 0) here.set(whose, left);
    else here.delete(whose);
  };
  const waitForSlot = (rank: number): Promise<void> =>
    new Promise((turn, reject) => {
      const behind = line.findIndex((other) => other.rank > rank);
      line.splice(behind === -1 ? line.length : behind, 0, { rank, turn, reject });
      if (line.length > MAX_WAITING)
        line
          .pop()
          ?.reject(
            new ConsoleRefused("throttled", "Too many users sign in at this moment; try again in a few seconds.", AGAIN_S),
          );
    });
  const doNow = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      // The slot is passed to the next call directly, so that no new call can take it.
      const next = line.shift();
      if (next) next.turn();
      else running -= 1;
    }
  };
  const inTurn = async <T>({ rank, whose }: QueuePosition, work: () => Promise<T>): Promise<T> => {
    const others = here.get(whose) ?? 0;
    here.set(whose, others + 1);
    try {
      if (running >= AT_A_TIME) await waitForSlot(rank + others);
      else running += 1;
      return await doNow(work);
    } finally {
      leave(whose);
    }
  };
  let decoy: Promise<string> | undefined;
  return {
    hash: (password, turn) => inTurn(turn, () => hashOf(password.normalize("NFC"))),
    isRight: (password, kept, turn) =>
      inTurn(turn, async () => {
        decoy ??= hashOf(crypto.randomUUID());
        const isSame = await Bun.password.verify(password.normalize("NFC"), kept ?? (await decoy));
        return isSame && kept !== null;
      }),
  };
};
