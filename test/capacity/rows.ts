// Compares the rows, bytes and mutations of the current service with those of the capacity calculator.
import { expect } from "bun:test";
import { costsOf, MEASURED } from "../../src/cli/capacity/costs.ts";
import type { StoreName } from "../../src/cli/capacity/measured.ts";
import type { Bed } from "./fixtures.ts";
import { measureRows } from "./whole.ts";

const rowsOn = async (bed: Bed) => {
  try {
    return await measureRows(bed, LIVES, 80);
  } finally {
    await bed.close();
  }
};

/** The allowed relative difference of row sizes, because request texts vary, and a page, because pages count as a whole. */
const ROW_TOLERANCE = 0.4;
const PAGE_BYTES = 8192;
const LIVES = 120;
/** Processor times are available on Linux only. */
export const hasProcessorTimes = process.platform === "linux";

type Found = { mutations: number; rows: (string | number)[][]; strange: (string | number)[][] };
type LargeTable = { table: string; rows: number; bytes: number };

/** `strange` lists the tables whose bytes for each generation differ by more than the tolerance: table, recorded, measured. */
const foundIn = ({ lives, tables }: Awaited<ReturnType<typeof rowsOn>>, large: readonly LargeTable[]): Found => {
  const bytesOf = (table: string): number => (tables[table]?.bytes ?? 0) / LIVES;
  return {
    mutations: Math.round(lives.mutations / lives.generations),
    rows: large.map(({ table }) => [table, Math.round((tables[table]?.rows ?? 0) / LIVES)]),
    strange: large
      .filter(({ table, bytes }) => Math.abs(bytesOf(table) - bytes) > ROW_TOLERANCE * bytes + PAGE_BYTES / LIVES)
      .map(({ table, bytes }) => [table, bytes, bytesOf(table)]),
  };
};

/**
 * One match is sufficient. Load adds polls to some generations but never removes any, and PostgreSQL reuses the space of old row
 * versions sooner or later. A real change always shows.
 */
const MEASUREMENTS = 3;
const measureUndisturbed = async (open: () => Promise<Bed>, large: readonly LargeTable[], expected: Found): Promise<Found> => {
  for (let n = 1; ; n += 1) {
    const found = foundIn(await rowsOn(await open()), large);
    if (n === MEASUREMENTS || Bun.deepEquals(found, expected)) return found;
  }
};

export const expectRowsAsMeasured = async (store: StoreName, open: () => Promise<Bed>): Promise<void> => {
  const costs = costsOf(MEASURED, store);
  const large = costs.tables.filter(({ rows }) => rows > 0);
  const expected: Found = { mutations: costs.mutations, rows: large.map(({ table, rows }) => [table, rows]), strange: [] };
  expect(await measureUndisturbed(open, large, expected)).toEqual(expected);
};
