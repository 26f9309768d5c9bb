// Memory usage of a process, read from a file that stays open.
import { expect, test } from "bun:test";
import { createMemoryMeter, usageOf } from "../../../src/media/sandbox/process-usage.ts";

test.skipIf(process.platform !== "linux")(
  "a meter reports the resident memory of a process until it is closed, and 0 afterwards",
  () => {
    const meter = createMemoryMeter(process.pid);
    const first = meter.residentBytes();
    const reported = usageOf(process.pid)?.residentBytes ?? 0;
    expect(Math.abs(first - reported)).toBeLessThan(reported / 4);
    const held = new Uint8Array(256 * 1024 * 1024).fill(1);
    expect(meter.residentBytes() - first).toBeGreaterThan(held.length / 2);
    meter.close();
    expect(meter.residentBytes()).toBe(0);
  },
);

test("a meter reports 0 for a process that does not exist", () => {
  const meter = createMemoryMeter(2 ** 30);
  expect(meter.residentBytes()).toBe(0);
  meter.close();
});
