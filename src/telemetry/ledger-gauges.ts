// Ledger gauges: open generations, stored files and the balance of the ledger.
//
// They are read page by page, so that other work does not wait.

import type { GenerationStatus } from "../domain/types.ts";
import type { LedgerTotals } from "../store/store.ts";
import { createBackgroundGauge } from "./background-gauge.ts";
import type { GaugeReadings } from "./gauge-readings.ts";

/** Rows read in one turn of the event loop, which takes a few milliseconds. */
const PAGE = 2_000;
/** Usually there are none; beyond this number the exact count does not matter. */
const MAX_UNDECIDED = 1000;
/** Files change slowly, and there can be millions of them. */
const FILES_KEPT_MS = 180_000;

export type Open = {
  status: Record<Extract<GenerationStatus, "queued" | "running">, number>;
  reservedOf: ReadonlyMap<string, number>;
  /** The creation time of the oldest queued generation; null if none is queued. */
  oldestQueuedMs: number | null;
};

const FATES = ["late", "mismatched", "unusable", "unknown"] as const;
/** Sum of the prices of orphans, by fate. */
export type Orphans = ReadonlyMap<(typeof FATES)[number], number>;

export type LedgerGauges = {
  open: () => Promise<Open | undefined>;
  imbalanceCredits: () => Promise<number | undefined>;
  filesBytes: () => Promise<number | undefined>;
  orphans: () => Promise<Orphans | undefined>;
  /** Reversals that wait for a decision of the operator. */
  undecided: () => Promise<number | undefined>;
};

const breathe = () => new Promise<void>((turn) => setImmediate(turn));

const readOpen = async ({ reads }: GaugeReadings, rows: number): Promise<Open> => {
  const status = { queued: 0, running: 0 };
  const reservedOf = new Map<string, number>();
  let oldestQueuedMs: number | null = null;
  for (let afterSeq = 0; ; await breathe()) {
    const page = await reads.openGenerations(afterSeq, rows);
    for (const one of page) {
      status[one.status] += 1;
      reservedOf.set(one.model, (reservedOf.get(one.model) ?? 0) + one.reservedCredits);
      if (one.status === "queued") oldestQueuedMs = Math.min(oldestQueuedMs ?? one.createdAtMs, one.createdAtMs);
    }
    const last = page.at(-1);
    if (!last || page.length < rows) return { status, reservedOf, oldestQueuedMs };
    afterSeq = last.seq;
  }
};

const readFilesBytes = async ({ reads }: GaugeReadings, rows: number): Promise<number> => {
  let bytes = 0;
  for (let after = { expireAtMs: 0, seq: 0 }; ; await breathe()) {
    const page = await reads.keptFiles(after, rows);
    bytes += page.bytes;
    if (page.count < rows) return bytes;
    after = page.upTo;
  }
};

/** Credits by which the three invariants of the ledger are violated; 0 if all are satisfied. */
const contradiction = ({ putCredits, capturedCredits, balances, openReservedCredits }: LedgerTotals): number => {
  const { availableCredits, heldCredits, chargedCredits } = balances;
  return (
    // All credits ever added are available, held or charged.
    Math.abs(availableCredits + heldCredits + chargedCredits - putCredits) +
    // All charged credits were captured.
    Math.abs(chargedCredits - capturedCredits) +
    // All held credits are reserved by open generations.
    Math.abs(heldCredits - openReservedCredits)
  );
};

/**
 * Whether balances and ledger agree. Transfers are append-only, so this process sums each one once and keeps the sum. A check
 * then reads the new transfers, all balances and the open generations in one snapshot of the database.
 *
 * It proves that no credit was created or lost in the transfers so far. It does not detect a transfer that was changed after it
 * was summed, a gap in the chain of an account, or an error in a single account, hold or charge. Only `genrouter verify`, which
 * reads everything, detects these.
 */
const openLedgerCheck = ({ reads }: GaugeReadings, rows: number) => {
  let summed = { upToSeq: 0, putCredits: 0, capturedCredits: 0 };
  return async (): Promise<number> => {
    for (; ; await breathe()) {
      const sums = await reads.ledgerTotals(summed, rows);
      summed = sums;
      if (sums.isWhole) return contradiction(sums);
    }
  };
};

const readOrphans = async ({ orphans }: GaugeReadings): Promise<Orphans> => {
  const sums = new Map(FATES.map((fate) => [fate, 0]));
  for (const { fate, priceCredits } of await orphans()) sums.set(fate, (sums.get(fate) ?? 0) + priceCredits);
  return sums;
};

/** @param rows read in one turn of the event loop */
export const createLedgerGauges = (standing: GaugeReadings, rows = PAGE): LedgerGauges => {
  const { nowMs, reads } = standing;
  return {
    open: createBackgroundGauge(() => readOpen(standing, rows), { nowMs }),
    imbalanceCredits: createBackgroundGauge(openLedgerCheck(standing, rows), { nowMs }),
    orphans: createBackgroundGauge(() => readOrphans(standing), { nowMs, keptMs: FILES_KEPT_MS }),
    filesBytes: createBackgroundGauge(() => readFilesBytes(standing, rows), { nowMs, keptMs: FILES_KEPT_MS }),
    undecided: createBackgroundGauge(async () => (await reads.undecidedReversals(MAX_UNDECIDED)).length, { nowMs }),
  };
};
