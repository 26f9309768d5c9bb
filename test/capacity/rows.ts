// Holds the rows, bytes and mutations of the service as it is against those that the capacity calculator works with.
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

/** By how much a row of the same kind may differ in size: texts of requests vary, and pages are counted whole. */
const ROW_TOLERANCE = 0.4;
const LIVES = 120;
/** They are read where the kernel of Linux tells them. */
export const hasProcessorTimes = process.platform === "linux";

type Found = { mutations: number; rows: (string | number)[][] };
const foundIn = ({ lives, tables }: Awaited<ReturnType<typeof rowsOn>>, large: readonly { table: string }[]): Found => ({
  mutations: Math.round(lives.mutations / lives.generations),
  rows: large.map(({ table }) => [table, Math.round((tables[table]?.rows ?? 0) / LIVES)]),
});

/** A machine under load adds polls to some of the lives and takes none away: what is right once is right. What changes for every life shows each time. */
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
