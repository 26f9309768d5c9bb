// Service phases, and the admission gate that rejects submissions while not open or overloaded.
import type { Ledger } from "../../actors/ledger.ts";
import type { Settings } from "../config/schema.ts";
import type { AdmissionState } from "../generations/submit.ts";

/** State of the service; it accepts submissions while `open`. */
export type ServicePhase = "starting" | "open" | "draining" | "stopped";

export type ServicePhases = {
  current: () => ServicePhase;
  isStopped: () => boolean;
  /** The end of recovery; a drain or a stop may have come first. */
  open: () => void;
  drain: () => void;
  stop: () => void;
};

export const createServicePhases = (): ServicePhases => {
  let phase: ServicePhase = "starting";
  return {
    current: () => phase,
    isStopped: () => phase === "stopped",
    open: () => {
      if (phase === "starting") phase = "open";
    },
    drain: () => {
      phase = "draining";
    },
    stop: () => {
      phase = "stopped";
    },
  };
};

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
