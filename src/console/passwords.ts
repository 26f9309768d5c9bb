// Passwords: hashed slowly, few at a time, so that whoever tries many takes nothing from the generations that run beside.
import { LEAST_PASSWORD_CHARS, MOST_PASSWORD_CHARS } from "../people-deeds.ts";
import { ConsoleRefused } from "./ask.ts";

/** Argon2id at OWASP's least: 19 MiB and two passes, about 25 ms of one core. */
const COST = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
const AT_A_TIME = 2;
/** Beyond these whoever comes is asked to come again: each would wait for seconds. */
const MOST_WAITING = 60;
const AGAIN_S = 5;

export type Passwords = {
  /** PHC form. @throws ConsoleRefused for one that is too short or too long, or when too many wait */
  hash(password: string): Promise<string>;
  /** Whether it is the one that is kept. Null takes as long and is never the one. @throws ConsoleRefused when too many wait */
  isRight(password: string, kept: string | null): Promise<boolean>;
};

export const openPasswords = (): Passwords => {
  let running = 0;
  const waiting: (() => void)[] = [];
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= AT_A_TIME) {
      if (waiting.length >= MOST_WAITING)
        throw new ConsoleRefused("throttled", "Too many people sign in at this moment; try again in a few seconds.", AGAIN_S);
      await new Promise<void>((turn) => waiting.push(turn));
    } else running += 1;
    try {
      return await work();
    } finally {
      // The turn is handed on, so that nobody slips in between.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
  let nobodys: Promise<string> | undefined;
  return {
    hash: async (password) => {
      const chars = [...password].length;
      if (chars < LEAST_PASSWORD_CHARS || chars > MOST_PASSWORD_CHARS)
        throw new ConsoleRefused(
          "invalid",
          `The password needs ${LEAST_PASSWORD_CHARS} to ${MOST_PASSWORD_CHARS} characters; a few words in a row are a good one.`,
        );
      return inTurn(() => Bun.password.hash(password.normalize("NFC"), COST));
    },
    isRight: (password, kept) =>
      inTurn(async () => {
        nobodys ??= Bun.password.hash(crypto.randomUUID(), COST);
        const isSame = await Bun.password.verify(password.normalize("NFC"), kept ?? (await nobodys));
        return isSame && kept !== null;
      }),
  };
};
