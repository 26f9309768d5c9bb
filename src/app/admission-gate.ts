// Whether a submission may come in: not while the service starts or leaves, nor while it has more to write than it can.
import type { Ledger } from "../../actors/ledger.ts";
import type { Settings } from "../config/schema.ts";
import type { AdmissionState } from "../generations/submit.ts";
import type { Life } from "./readiness.ts";

export type AdmissionGateDeps = {
  life: () => Life;
  load: Ledger["load"];
  /** Whether another node goes on with what this one leaves. */
  isAnotherThere: (() => boolean) | undefined;
  limits: Pick<Settings["limits"], "max_pending_submissions" | "slow_commit_ms">;
};

export const createAdmissionGate = (deps: AdmissionGateDeps) => (): AdmissionState => {
  const { limits } = deps;
  const life = deps.life();
  // What is accepted while one of several nodes leaves is gone on with by another; the last of them turns away what nobody would go on with.
  if (life !== "open" && !(life === "draining" && deps.isAnotherThere?.())) return "restarting";
  const { isFull, waiting, committingForMs } = deps.load();
  return isFull || waiting > limits.max_pending_submissions || committingForMs > limits.slow_commit_ms ? "busy" : "open";
};
