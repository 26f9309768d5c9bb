// The figures that are read from the books, page by page so that nothing else waits: what is open, what is kept, and whether it adds up.

import type { GenerationStatus } from "../domain/types.ts";
import type { LedgerTotals } from "../store/store.ts";
import { createBackgroundGauge } from "./background-gauge.ts";
import type { GaugeReadings } from "./gauge-readings.ts";

/** Rows read in one turn of the event loop: some milliseconds. */
const PAGE = 2_000;
/** There are none as a rule, and of more than so many it is enough to know that. */
const MOST_UNDECIDED = 1000;
/** Files come and go slowly, and there may be millions of them. */
const FILES_KEPT_MS = 180_000;

export type Open = {
  status: Record<Extract<GenerationStatus, "queued" | "running">, number>;
  reservedOf: ReadonlyMap<string, number>;
  /** Of the oldest one that is queued; null when none is. */
  oldestQueuedMs: number | null;
};

const FATES = ["late", "mismatched", "unusable", "unknown"] as const;
/** Prices of the orphans by their fate. */
export type Orphans = ReadonlyMap<(typeof FATES)[number], number>;

export type LedgerGauges = {
  open: () => Promise<Open | undefined>;
  imbalanceCredits: () => Promise<number | undefined>;
  filesBytes: () => Promise<number | undefined>;
  orphans: () => Promise<Orphans | undefined>;
  /** Reversals that wait for a decision. */
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

/** Credits by which the three statements of the books are wrong; 0 when all hold. */
const contradiction = ({ putCredits, capturedCredits, balances, openReservedCredits }: LedgerTotals): number => {
  const { availableCredits, heldCredits, chargedCredits } = balances;
  return (
    // What was ever put in is available, held or charged.
    Math.abs(availableCredits + heldCredits + chargedCredits - putCredits) +
    // What was charged was captured.
    Math.abs(chargedCredits - capturedCredits) +
    // What is held was reserved by generations that have not ended.
    Math.abs(heldCredits - openReservedCredits)
  );
};

/**
 * Whether balances and ledger agree. Movements are only ever added, so each is summed up once by this process and remembered; a look
 * then reads the new ones, all balances and what is open, in one state of the database. It proves that no credit came into being or
 * got lost in what the service has written since, and in what it found. That no movement was changed behind the service's back after
 * it was summed up, that the chain of each account is whole, and that every account, hold and charge is right by itself, only
 * `genrouter verify` proves, which reads everything.
 */
const openLedgerCheck = ({ reads }: GaugeReadings, rows: number) => {
  let summed = { upToSeq: 0, putCredits: 0, capturedCredits: 0 };
  return async (): Promise<number> => {
    for (; ; await breathe()) {
      const sums = await reads.bookSums(summed, rows);
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
    undecided: createBackgroundGauge(async () => (await reads.undecidedReversals(MOST_UNDECIDED)).length, { nowMs }),
  };
};
