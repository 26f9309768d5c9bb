// The stall meter counts pauses that the event loop caused, and none that the machine caused.
import { afterEach, describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compute } from "./compute.ts";
import { BOUND_MS, createStallMeter, type StallMeter } from "./meter.ts";
import { pauseOf, type Reading } from "./pause.ts";

const TICK_MS = 20;
const before: Reading = { wallMs: 1000, cpuMs: 100, idleMs: 5000, delayMs: 7 };
/** The reading after a pause of `wallMs`. */
const after = (wallMs: number, { cpuMs = 0, idleMs = 0, delayMs = 0 }: Partial<Reading>): Reading => ({
  wallMs: before.wallMs + TICK_MS + wallMs,
  cpuMs: before.cpuMs + cpuMs,
  idleMs: idleMs === null ? null : Number(before.idleMs) + idleMs,
  delayMs: before.delayMs + delayMs,
});

describe("pauseOf for a pause of 400 ms", () => {
  test.each<[what: string, Partial<Reading>, mine: number]>([
    ["counts 400 ms of CPU time on a machine with idle processors", { cpuMs: 400, idleMs: 400 }, 400],
    ["counts 400 ms of CPU time on a machine without idle processors", { cpuMs: 400 }, 400],
    ["counts the whole wait while a processor was idle", { idleMs: 410 }, 400],
    ["counts only the CPU time if no processor was idle", { cpuMs: 30 }, 30],
    ["subtracts the delay of the control loop", { cpuMs: 5, idleMs: 800, delayMs: 395 }, 5],
    ["counts the CPU time although the control loop was delayed", { cpuMs: 120, delayMs: 400 }, 120],
    ["subtracts only the delay of the control loop if the system reports no idle time", { idleMs: null, delayMs: 150 }, 250],
  ])("%s", (_, read, mine) => {
    expect(pauseOf(before, after(400, read), TICK_MS)).toBe(mine);
  });

  test("returns 0 without a pause", () => {
    expect(pauseOf(before, after(0, { cpuMs: 15, idleMs: 20 }), TICK_MS)).toBe(0);
    expect(pauseOf(before, after(-3, {}), TICK_MS)).toBe(0);
  });
});

describe("the stall meter", () => {
  let meter: StallMeter;
  afterEach(() => meter.stop());
  const ticks = async (count: number) => {
    const from = meter.longest().ticks;
    while (meter.longest().ticks < from + count) await Bun.sleep(5);
  };
  test("exceeds its bound when a loop computes for 400 ms at once, and not when it yields in between", async () => {
    meter = createStallMeter();
    const end = meter.begin();
    await ticks(3);
    for (let i = 0; i < 20; i += 1) {
      compute(20);
      await Bun.sleep(0);
    }
    await ticks(3);
    expect(meter.longest().longestMs).toBeLessThan(BOUND_MS);
    compute(400);
    await ticks(1);
    expect(meter.longest().longestMs).toBeGreaterThan(350);
    end();
  });

  test("ignores the work of a test inside meter.pause and before and after a measurement", async () => {
    meter = createStallMeter();
    compute(300);
    const end = meter.begin();
    await ticks(3);
    expect(await meter.pause(() => compute(300))).toBeUndefined();
    await meter.pause(async () => {
      await Bun.sleep(5);
      compute(300);
      await Bun.sleep(5);
    });
    await ticks(3);
    end();
    compute(300);
    expect(meter.longest().longestMs).toBeLessThan(BOUND_MS);
  });

  test("ignores delays caused by other programs on a busy machine", async () => {
    const busy = Array.from({ length: 2 * availableParallelism() }, () => Bun.spawn([process.execPath, "-e", "for(;;);"]));
    try {
      meter = createStallMeter();
      const end = meter.begin();
      // Each burst takes many times as long by the clock, because other processes are scheduled in between.
      for (let i = 0; i < 5; i += 1) {
        compute(60);
        await Bun.sleep(1);
      }
      await ticks(1);
      end();
      const { longestMs, wallMs } = meter.longest();
      expect(longestMs).toBeLessThan(BOUND_MS);
      expect(wallMs).toBeGreaterThan(longestMs);
      // The meter still counts the loop's own work on the busy machine.
      const again = meter.begin();
      await ticks(1);
      compute(400);
      await ticks(1);
      again();
      expect(meter.longest().longestMs).toBeGreaterThan(350);
    } finally {
      for (const child of busy) child.kill("SIGKILL");
      await Promise.all(busy.map(({ exited }) => exited));
    }
  });
});

describe("a test file", () => {
  const BLOCKING = join(import.meta.dir, "blocking.ts");
  const run = async (by: string) => {
    const child = Bun.spawn([process.execPath, "test", BLOCKING], {
      ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
      env: { ...process.env, NODE_ENV: "test", STALL_BY: by, STALL_MS: "400" },
    });
    // Continues a process that stopped itself after half a second.
    const timer = setInterval(() => by === "stopped" && child.kill("SIGCONT"), 500);
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    clearInterval(timer);
    return { code: await child.exited, said: out + err };
  };

  test("fails and prints the duration when its service blocks the event loop for 400 ms", async () => {
    const { code, said } = await run("computing");
    expect(said).toMatch(/the event loop stood still for (3[5-9]|4\d)\d ms/);
    expect(said).toMatch(/^stall: (3[5-9]|4\d)\d ms/m);
    expect(code).not.toBe(0);
  });

  test.each(["nothing", "the test", "stopped"])("passes with STALL_BY=%s", async (by) => {
    const { code, said } = await run(by);
    expect(said).toMatch(/^stall: \d{1,2} ms/m);
    expect([code, said]).toEqual([0, expect.stringMatching(/ 1 pass\n 0 fail/)]);
  });
});
