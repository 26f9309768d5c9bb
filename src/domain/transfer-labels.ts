// The label of each kind of transfer for people. CSV, JSON and the API have the kind itself.
import type { TransferKind } from "./types.ts";

export const TRANSFER_LABELS: Readonly<Record<TransferKind, string>> = {
  topup: "Top-up",
  hold: "Hold",
  capture: "Charge",
  release: "Release",
  adjust: "Adjustment",
};
