// A fault of the operator's account at a provider, its key or its balance, closes every route of that account, not only the one that met it.

import type { Failure } from "../../src/domain/types.ts";
import type { RouteVerdict } from "./machine.ts";
import type { CircuitBreakers } from "./registry.ts";

export type AccountFaultsDeps = {
  health: Pick<CircuitBreakers, "judge" | "isDown">;
  /** The routes that go with the same key to the same provider, this one among them. */
  sharingKey: (routeId: string) => readonly string[];
  /** So many others were closed with this route. */
  closedOthers?: (routeId: string, count: number) => void;
};

export type AccountFaults = {
  /** What an attempt says about its route's health; `isOfAccount`: the same holds of every route of that account. */
  judge(routeId: string, verdict: RouteVerdict, why?: Failure, isOfAccount?: boolean): void;
  /** Whether the route that is being closed follows another, of which the operator has been told. */
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
