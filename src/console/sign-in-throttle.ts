// Wrong passwords are counted: by browser for whoever has signed in from it before, by address and network for strangers. They slow down, and lock nobody out.

import { networkOf } from "../config/cidr-list.ts";
import type { Clock } from "../domain/clock.ts";
import type { Turn } from "./passwords.ts";
import { createTokenBucket, type Throttle } from "./token-bucket.ts";

const SECOND_MS = 1000;
/** For one person: from a browser that is known, or from one address. */
const PER_PAIR = { burst: 10, refillMs: 60 * SECOND_MS };
/** For whomever, from one address and from its network. */
const PER_ADDRESS = { burst: 50, refillMs: 10 * SECOND_MS };
const PER_NETWORK = { burst: 200, refillMs: 3 * SECOND_MS };

export type Guess = {
  /** Of the caller, as tries are counted by it: an IPv4 address or the /64 of an IPv6 one; "" where it is not known. */
  address: string;
  email: string;
  /** The browser's name where the person has signed in from it before. */
  device: string | null;
  /** "" where nobody has the address. */
  personId: string;
};
export type Guesses = {
  /**
   * Counts a try before the password is looked at, so that many at once are many; one that was right is given back.
   * @param check looks at the password, in its turn
   * @throws ConsoleRefused `throttled`; then nothing was looked at
   */
  count(guess: Guess, check: (turn: Turn) => Promise<boolean>): Promise<boolean>;
};

export const createSignInThrottle = (clock: Clock): Guesses => {
  const perDevice = createTokenBucket(clock, PER_PAIR);
  const perPair = createTokenBucket(clock, PER_PAIR);
  const perAddress = createTokenBucket(clock, PER_ADDRESS);
  const perNetwork = createTokenBucket(clock, PER_NETWORK);

  const countsOf = ({ address, email, device }: Guess): readonly [Throttle, string][] =>
    device === null
      ? [
          [perNetwork, networkOf(address)],
          [perAddress, address],
          [perPair, `${address} ${email}`],
        ]
      : [[perDevice, device]];
  return {
    count: async (guess, check) => {
      const counts = countsOf(guess);
      // Whoever is known comes first, then those from whose network the fewest wrong ones came.
      const turn: Turn =
        guess.device === null
          ? { rank: 1 + perNetwork.used(networkOf(guess.address)), whose: guess.address }
          : { rank: 0, whose: guess.personId };
      const taken: (typeof counts)[number][] = [];
      let isWrong = false;
      try {
        for (const [throttle, name] of counts) {
          throttle.take(name);
          taken.push([throttle, name]);
        }
        isWrong = !(await check(turn));
        return !isWrong;
      } finally {
        if (!isWrong) for (const [throttle, name] of taken) throttle.giveBack(name);
      }
    },
  };
};
