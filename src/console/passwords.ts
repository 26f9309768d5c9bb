// Passwords: hashed slowly, few at a time, so that whoever tries many takes nothing from the generations that run beside.
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from "../store/user-mutations.ts";
import { ConsoleRefused } from "./request-context.ts";

/** Argon2id at OWASP's least: 19 MiB and two passes, about 25 ms of one core. */
const COST = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
const AT_A_TIME = 2;
/** Beyond these the last in line is asked to come again: it would wait for seconds. */
const MOST_WAITING = 60;
const AGAIN_S = 5;

/** A place in the line: the lower rank comes first, and of equals the one that came first. */
export type Turn = {
  /** 0 for whoever is known. */
  rank: number;
  /** Who waits: each one more of the same at once has a rank of one more, so that nobody fills the line alone. */
  whose: string;
};

export type Passwords = {
  /** PHC form. @throws ConsoleRefused for one that is too short or too long, or when too many wait */
  hash(password: string, turn: Turn): Promise<string>;
  /** Whether it is the one that is kept. Null takes as long and is never the one. @throws ConsoleRefused when too many wait */
  isRight(password: string, kept: string | null, turn: Turn): Promise<boolean>;
};

type Waiting = { rank: number; turn: () => void; away: (fault: ConsoleRefused) => void };

export const createPasswords = (): Passwords => {
  let running = 0;
  /** In the order of their turns. */
  const line: Waiting[] = [];
  /** How many of each are at it or wait. */
  const here = new Map<string, number>();
  const leave = (whose: string): void => {
    const left = (here.get(whose) ?? 0) - 1;
    if (left > 0) here.set(whose, left);
    else here.delete(whose);
  };
  const stand = (rank: number): Promise<void> =>
    new Promise((turn, away) => {
      const behind = line.findIndex((other) => other.rank > rank);
      line.splice(behind === -1 ? line.length : behind, 0, { rank, turn, away });
      if (line.length > MOST_WAITING)
        line
          .pop()
          ?.away(new ConsoleRefused("throttled", "Too many people sign in at this moment; try again in a few seconds.", AGAIN_S));
    });
  const doNow = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      // The turn is handed on, so that nobody slips in between.
      const next = line.shift();
      if (next) next.turn();
      else running -= 1;
    }
  };
  const inTurn = async <T>({ rank, whose }: Turn, work: () => Promise<T>): Promise<T> => {
    const others = here.get(whose) ?? 0;
    here.set(whose, others + 1);
    try {
      if (running >= AT_A_TIME) await stand(rank + others);
      else running += 1;
      return await doNow(work);
    } finally {
      leave(whose);
    }
  };
  let nobodys: Promise<string> | undefined;
  return {
    hash: async (password, turn) => {
      const chars = [...password].length;
      if (chars < MIN_PASSWORD_CHARS || chars > MAX_PASSWORD_CHARS)
        throw new ConsoleRefused(
          "invalid",
          `The password needs ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters; a few words in a row are a good one.`,
        );
      return inTurn(turn, () => Bun.password.hash(password.normalize("NFC"), COST));
    },
    isRight: (password, kept, turn) =>
      inTurn(turn, async () => {
        nobodys ??= Bun.password.hash(crypto.randomUUID(), COST);
        const isSame = await Bun.password.verify(password.normalize("NFC"), kept ?? (await nobodys));
        return isSame && kept !== null;
      }),
  };
};
