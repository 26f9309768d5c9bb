// Records rejected sign-ins: each in the log, and for existing users in the audit log.
//
// The audit log gets at most one entry per user and minute.

import { networkOf } from "../config/cidr-list.ts";
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import type { Log } from "../logging/events.ts";

/**
 * `wrong`: wrong password or unknown user. `throttled`: too many wrong passwords before. `busy`: too many sign-ins at the moment.
 */
export type RefusedOutcome = "wrong" | "throttled" | "busy";
export type RefusedSignIn = {
  outcome: RefusedOutcome;
  address: string;
  /** Null for an unknown user. The text that was entered is not logged, because it may be a password in the wrong field. */
  userId: string | null;
  requestId: string;
};
export type RefusedSignIns = { report(refused: RefusedSignIn): void };

const EACH_MS = 60_000;
const MAX_NETWORKS = 1_000;
const BY = { kind: "service", id: "genrouter", name: "sign-in" } as const;

type UnreportedAttempts = { wrong: number; throttled: number; networks: Set<string> };

export type RejectedSignInsDeps = {
  log: Log;
  clock: Clock;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
};

export const createRejectedSignIns = ({ log, clock, post }: RejectedSignInsDeps): RefusedSignIns => {
  /** Counts since the last audit entry, for users whose minute has not ended. */
  const open = new Map<string, UnreportedAttempts>();

  const write = (userId: string, { wrong, throttled, networks }: UnreportedAttempts): void => {
    const mutation = { mutation: "note-refused-sign-ins", userId, wrong, throttled, networks: networks.size } as const;
    // Not awaited; the log contains each rejection.
    void post({ ...mutation, by: BY, atMs: clock.nowMs() }).catch(() => undefined);
  };
  const beginMinute = (userId: string): void => {
    const unreported: UnreportedAttempts = { wrong: 0, throttled: 0, networks: new Set() };
    open.set(userId, unreported);
    clock.after(EACH_MS, () => {
      open.delete(userId);
      if (unreported.wrong + unreported.throttled === 0) return;
      write(userId, unreported);
      beginMinute(userId);
    });
  };
  const note = (userId: string, outcome: RefusedOutcome, address: string): void => {
    const [wrong, throttled] = outcome === "wrong" ? [1, 0] : [0, 1];
    const unreported = open.get(userId);
    if (!unreported) {
      write(userId, { wrong, throttled, networks: new Set([networkOf(address)]) });
      beginMinute(userId);
      return;
    }
    unreported.wrong += wrong;
    unreported.throttled += throttled;
    if (unreported.networks.size < MAX_NETWORKS) unreported.networks.add(networkOf(address));
  };
  return {
    report: ({ outcome, address, userId, requestId }) => {
      log("sign-in rejected", {
        ...{ outcome, address, request_id: requestId },
        ...(userId === null ? {} : { user_id: userId }),
      });
      if (userId !== null) note(userId, outcome, address);
    },
  };
};
