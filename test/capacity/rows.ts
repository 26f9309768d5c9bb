// Holds the rows, bytes and deeds of the service as it is against those that the capacity calculator works with.
import { expect } from "bun:test";
import { costsOf, MEASURED } from "../../src/cli/capacity/costs.ts";
import type { StoreName } from "../../src/cli/capacity/measured.ts";
import type { Bed } from "./beds.ts";
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

export const expectRowsAsMeasured = async (store: StoreName, open: () => Promise<Bed>): Promise<void> => {
  const bed = await open();
  const { lives, tables } = await rowsOn(bed);
  const costs = costsOf(MEASURED, store);
  // A machine under load makes single polls more: what changes for every life shows all the same.
  expect(Math.round(lives.deeds / lives.generations)).toBe(costs.deeds);
  const large = costs.tables.filter(({ rows }) => rows > 0);
  const rowsOf = (table: string) => Math.round((tables[table]?.rows ?? 0) / LIVES);
  expect(large.map(({ table }) => [table, rowsOf(table)])).toEqual(large.map(({ table, rows }) => [table, rows]));
  const strange = large.filter(
    ({ table, bytes }) => Math.abs((tables[table]?.bytes ?? 0) / LIVES - bytes) > ROW_TOLERANCE * bytes,
  );
  expect(strange.map(({ table, bytes }) => [table, bytes, (tables[table]?.bytes ?? 0) / LIVES])).toEqual([]);
};
