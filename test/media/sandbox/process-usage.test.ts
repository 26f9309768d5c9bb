// The memory of a process by the file that stays open.
import { expect, test } from "bun:test";
import { createMemoryMeter, usageOf } from "../../../src/media/sandbox/process-usage.ts";

test.skipIf(process.platform !== "linux")(
  "a meter tells what a process has resident, look after look, and nothing once it is closed",
  () => {
    const meter = createMemoryMeter(process.pid);
    const first = meter.residentBytes();
    const told = usageOf(process.pid)?.residentBytes ?? 0;
    expect(Math.abs(first - told)).toBeLessThan(told / 4);
    const held = new Uint8Array(256 * 1024 * 1024).fill(1);
    expect(meter.residentBytes() - first).toBeGreaterThan(held.length / 2);
    meter.close();
    expect(meter.residentBytes()).toBe(0);
  },
);

test("a process that is not there has nothing resident", () => {
  const meter = createMemoryMeter(2 ** 30);
  expect(meter.residentBytes()).toBe(0);
  meter.close();
});
