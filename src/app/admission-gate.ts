// Admission gate: rejects submissions while the service starts, drains or is overloaded.
import type { Ledger } from "../../actors/ledger.ts";
import type { Settings } from "../config/schema.ts";
import type { AdmissionState } from "../generations/submit.ts";
import type { ServicePhase } from "./readiness.ts";

export type AdmissionGateDeps = {
  phase: () => ServicePhase;
  load: Ledger["load"];
  /** Whether a disk that the service writes to is full. */
  isDiskFull: () => boolean;
  /** Whether another node continues what this one leaves. */
  isAnotherThere: (() => boolean) | undefined;
  limits: Pick<Settings["limits"], "max_pending_submissions" | "slow_commit_ms">;
};

export const createAdmissionGate = (deps: AdmissionGateDeps) => (): AdmissionState => {
  const { limits } = deps;
  const phase = deps.phase();
  // Another node continues what a draining node accepts; the last node rejects submissions that no node would continue.
  if (phase !== "open" && !(phase === "draining" && deps.isAnotherThere?.())) return "restarting";
  const { waiting, committingForMs } = deps.load();
  return deps.isDiskFull() || waiting > limits.max_pending_submissions || committingForMs > limits.slow_commit_ms
    ? "busy"
    : "open";
};
