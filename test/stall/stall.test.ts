// The stall meter blames a loop for what it did itself, and for nothing that the machine did to it.
import { afterEach, describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compute } from "./compute.ts";
import { BOUND_MS, createStallMeter, type StallMeter } from "./meter.ts";
import { pauseOf, type Reading } from "./pause.ts";

const TICK_MS = 20;
const before: Reading = { wallMs: 1000, cpuMs: 100, idleMs: 5000, heldUpMs: 7 };
/** What was read after a pause that took so long. */
const after = (wallMs: number, { cpuMs = 0, idleMs = 0, heldUpMs = 0 }: Partial<Reading>): Reading => ({
  wallMs: before.wallMs + TICK_MS + wallMs,
  cpuMs: before.cpuMs + cpuMs,
  idleMs: idleMs === null ? null : Number(before.idleMs) + idleMs,
  heldUpMs: before.heldUpMs + heldUpMs,
});

describe("a pause of 400 ms", () => {
  test.each<[what: string, Partial<Reading>, mine: number]>([
    ["in which the loop computed is all its own, on a machine with room", { cpuMs: 400, idleMs: 400 }, 400],
    ["in which it computed is all its own, on a machine without room", { cpuMs: 400 }, 400],
    ["in which it waited while a processor was free is all its own", { idleMs: 410 }, 400],
    ["in which it computed a little and waited for its turn is what it computed", { cpuMs: 30 }, 30],
    ["in which the control loop was held up as long is the machine's", { cpuMs: 5, idleMs: 800, heldUpMs: 395 }, 5],
    ["in which it computed while the control loop was starved is what it computed", { cpuMs: 120, heldUpMs: 400 }, 120],
    ["where the system tells of no idle time is what the control loop was not held up for", { idleMs: null, heldUpMs: 150 }, 250],
  ])("%s", (_, read, mine) => {
    expect(pauseOf(before, after(400, read), TICK_MS)).toBe(mine);
  });

  test("that did not happen is none", () => {
    expect(pauseOf(before, after(0, { cpuMs: 15, idleMs: 20 }), TICK_MS)).toBe(0);
    expect(pauseOf(before, after(-3, {}), TICK_MS)).toBe(0);
  });
});

describe("a loop", () => {
  let meter: StallMeter;
  afterEach(() => meter.stop());
  const ticks = async (count: number) => {
    const from = meter.longest().ticks;
    while (meter.longest().ticks < from + count) await Bun.sleep(5);
  };
  test("that computes for 400 ms is above the bound, one that gives way meanwhile is not", async () => {
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

  test("is not asked for what a test does in a pause of the meter, or before and after a harness", async () => {
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

  test("on a machine that is busy with other programs is late, and not blamed for it", async () => {
    const busy = Array.from({ length: 2 * availableParallelism() }, () => Bun.spawn([process.execPath, "-e", "for(;;);"]));
    try {
      meter = createStallMeter();
      const end = meter.begin();
      // Each burst takes many times as long by the clock, since others have their turns in it.
      for (let i = 0; i < 5; i += 1) {
        compute(60);
        await Bun.sleep(1);
      }
      await ticks(1);
      end();
      const { longestMs, wallMs } = meter.longest();
      expect(longestMs).toBeLessThan(BOUND_MS);
      expect(wallMs).toBeGreaterThan(longestMs);
      // What it did itself is blamed there, too.
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
    // A process that stopped itself goes on half a second later.
    const timer = setInterval(() => by === "stopped" && child.kill("SIGCONT"), 500);
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    clearInterval(timer);
    return { code: await child.exited, said: out + err };
  };

  test("whose service blocks the loop for 400 ms fails, and says for how long", async () => {
    const { code, said } = await run("computing");
    expect(said).toMatch(/the event loop stood still for (3[5-9]|4\d)\d ms/);
    expect(said).toMatch(/^stall: (3[5-9]|4\d)\d ms/m);
    expect(code).not.toBe(0);
  });

  test.each(["nothing", "the test", "stopped"])("passes where what blocks is %s", async (by) => {
    const { code, said } = await run(by);
    expect(said).toMatch(/^stall: \d{1,2} ms/m);
    expect([code, said]).toEqual([0, expect.stringMatching(/ 1 pass\n 0 fail/)]);
  });
});
