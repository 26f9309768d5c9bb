// Throttles wrong passwords by known browser, or by address and network for unknown ones.
//
// Throttling delays sign-ins and never locks an account.

import { networkOf } from "../config/cidr-list.ts";
import type { Clock } from "../domain/clock.ts";
import type { QueuePosition } from "./passwords.ts";
import { createTokenBucket, type Throttle } from "./token-bucket.ts";

const SECOND_MS = 1000;
/** Per user: from a known browser, or from one address. */
const PER_PAIR = { burst: 10, refillMs: 60 * SECOND_MS };
/** For all users together: from one address, and from its network. */
const PER_ADDRESS = { burst: 50, refillMs: 10 * SECOND_MS };
const PER_NETWORK = { burst: 200, refillMs: 3 * SECOND_MS };

export type Guess = {
  /** Client address by which attempts are counted: an IPv4 address or the /64 of an IPv6 address; "" if unknown. */
  address: string;
  email: string;
  /** Name of the browser if the user has signed in from it before. */
  device: string | null;
  /** "" if the e-mail address is unknown. */
  userId: string;
};
export type Guesses = {
  /**
   * Counts an attempt before the password is verified, so that concurrent attempts are counted too; a correct one is uncounted.
   * @param check verifies the password with the given priority
   * @throws ConsoleRefused `throttled`; in this case nothing was verified
   */
  count(guess: Guess, check: (turn: QueuePosition) => Promise<boolean>): Promise<boolean>;
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
      // Known browsers run first, then networks with the fewest recent wrong passwords.
      const turn: QueuePosition =
        guess.device === null
          ? { rank: 1 + perNetwork.used(networkOf(guess.address)), whose: guess.address }
          : { rank: 0, whose: guess.userId };
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
