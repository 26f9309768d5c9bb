// Opens all routes of a provider account after a credential or balance error on one of them.

import type { Failure } from "../../src/domain/types.ts";
import type { RouteVerdict } from "./machine.ts";
import type { CircuitBreakers } from "./registry.ts";

export type AccountFaultsDeps = {
  health: Pick<CircuitBreakers, "judge" | "isDown">;
  /** Routes that use the same credential at the same provider, including this one. */
  sharingKey: (routeId: string) => readonly string[];
  /** Called with the number of other routes that were closed with this route. */
  closedOthers?: (routeId: string, count: number) => void;
};

export type AccountFaults = {
  /** Applies the verdict of an attempt to its route; `isOfAccount`: it holds for every route of the account. */
  judge(routeId: string, verdict: RouteVerdict, why?: Failure, isOfAccount?: boolean): void;
  /** Whether the route is closed because of another route that was already reported to the operator. */
  isFollowing(): boolean;
};

export const createAccountFaults = ({ health, sharingKey, closedOthers }: AccountFaultsDeps): AccountFaults => {
  let isFollowing = false;
  const closeOthers = (routeId: string, why: Failure | undefined) => {
    const others = sharingKey(routeId).filter((other) => other !== routeId && !health.isDown(other));
    isFollowing = true;
    try {
      for (const other of others) health.judge(other, "faulty", why);
    } finally {
      isFollowing = false;
    }
    if (others.length > 0) closedOthers?.(routeId, others.length);
  };
  return {
    judge: (routeId, verdict, why, isOfAccount = false) => {
      health.judge(routeId, verdict, why);
      if (verdict === "faulty" && isOfAccount) closeOthers(routeId, why);
    },
    isFollowing: () => isFollowing,
  };
};
