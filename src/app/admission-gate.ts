// Admission gate: rejects submissions while the service starts, drains or is overloaded.
import type { Ledger } from "../../actors/ledger.ts";
import type { Settings } from "../config/schema.ts";
import type { AdmissionState } from "../generations/submit.ts";
import type { ServicePhase } from "./readiness.ts";

export type AdmissionGateDeps = {
  life: () => ServicePhase;
  load: Ledger["load"];
  /** Whether another node continues what this one leaves. */
  isAnotherThere: (() => boolean) | undefined;
  limits: Pick<Settings["limits"], "max_pending_submissions" | "slow_commit_ms">;
};

export const createAdmissionGate = (deps: AdmissionGateDeps) => (): AdmissionState => {
  const { limits } = deps;
  const life = deps.life();
  // Another node continues what a draining node accepts; the last node rejects submissions that no node would continue.
  if (life !== "open" && !(life === "draining" && deps.isAnotherThere?.())) return "restarting";
  const { isFull, waiting, committingForMs } = deps.load();
  return isFull || waiting > limits.max_pending_submissions || committingForMs > limits.slow_commit_ms ? "busy" : "open";
};
