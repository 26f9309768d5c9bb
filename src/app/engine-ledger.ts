// Ledger actor of the engine: the single writer, with its log events.
import { createLedger, type Ledger } from "../../actors/ledger.ts";
import type { PostCommit } from "../generations/post-commit.ts";
import type { EngineDeps } from "./engine-types.ts";

const reasonOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

export const createEngineLedger = (
  { store, clock, log, soon, unknownOutcome }: Pick<EngineDeps, "store" | "clock" | "log" | "soon" | "unknownOutcome">,
  committed: PostCommit,
): Ledger =>
  createLedger({
    commit: store.commit,
    clock,
    soon,
    committed,
    defect: (fault) => log("post-commit failed", { reason: reasonOf(fault) }),
    full: () =>
      log("database disk full", {
        reason: "the disk is full: submissions are rejected, and all other writes wait",
        action: "free space on the disk of data.dir (genrouter doctor prints it); no restart is required",
      }),
    onSpace: () => log("disk space recovered"),
    unknown: (fault) => {
      log("commit outcome unknown", { reason: reasonOf(fault) });
      unknownOutcome();
    },
  });
