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

/** The allowed relative difference of row sizes: request texts vary, and pages count as a whole. */
const ROW_TOLERANCE = 0.4;
const LIVES = 120;
/** Processor times are available on Linux only. */
export const hasProcessorTimes = process.platform === "linux";

type Found = { mutations: number; rows: (string | number)[][] };
const foundIn = ({ lives, tables }: Awaited<ReturnType<typeof rowsOn>>, large: readonly { table: string }[]): Found => ({
  mutations: Math.round(lives.mutations / lives.generations),
  rows: large.map(({ table }) => [table, Math.round((tables[table]?.rows ?? 0) / LIVES)]),
});

/** Load adds polls to some generations but never removes any, so one match is sufficient. A real change always shows. */
const MEASUREMENTS = 3;
const measureUndisturbed = async (open: () => Promise<Bed>, large: readonly { table: string }[], expected: Found) => {
  for (let n = 1; ; n += 1) {
    const measured = await rowsOn(await open());
    const found = foundIn(measured, large);
    if (n === MEASUREMENTS || Bun.deepEquals(found, expected)) return { found, tables: measured.tables };
  }
};

export const expectRowsAsMeasured = async (store: StoreName, open: () => Promise<Bed>): Promise<void> => {
  const costs = costsOf(MEASURED, store);
  const large = costs.tables.filter(({ rows }) => rows > 0);
  const expected = { mutations: costs.mutations, rows: large.map(({ table, rows }) => [table, rows]) };
  const { found, tables } = await measureUndisturbed(open, large, expected);
  expect(found).toEqual(expected);
  const strange = large.filter(
    ({ table, bytes }) => Math.abs((tables[table]?.bytes ?? 0) / LIVES - bytes) > ROW_TOLERANCE * bytes,
  );
  expect(strange.map(({ table, bytes }) => [table, bytes, (tables[table]?.bytes ?? 0) / LIVES])).toEqual([]);
};
