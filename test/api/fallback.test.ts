// Tests of a fallback and of max_wait_s over HTTP: the resource and the balance at every poll.
import { afterEach, describe, expect, test } from "bun:test";
import { MOVING_MS } from "../eventually.ts";
import type { GenerationResource, Harness } from "../harness.ts";
import { openApiHarness } from "./harness.ts";

let harness: Harness;
const open = async () => {
  harness = await openApiHarness({ factor: 0 });
  return harness;
};
afterEach(() => harness.close());

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
/** The plan of that input: credits of each route, in order. */
const PRICES = [20, 22, 24, 28];
const RESERVE = 28;

/**
 * Polls a generation until its end, every 0.25 s at first and then in longer steps.
 * @returns the resource and the balance at every poll.
 */
const watch = async (id: string) => {
  const seen: { shown: GenerationResource; available: number; held: number; charged: number }[] = [];
  await harness.eventually(
    async () => {
      harness.clock.skip(seen.length < 60 ? 250 : 5000);
      // Read before the poll: a settlement between the two reads belongs to the next poll.
      const before = await harness.balance();
      const shown = await harness.show(id);
      const isOver = shown.completed_at !== null;
      seen.push({ shown, ...(isOver ? await harness.balance() : before) });
      return isOver;
    },
    "the end",
    MOVING_MS,
  );
  return seen;
};
/** Checks every poll: credits are conserved, the hold lasts until the end, and attempts never decrease. */
const expectSound = (seen: Awaited<ReturnType<typeof watch>>, total: number) => {
  let attempts = 0;
  for (const { shown, available, held, charged } of seen) {
    expect(available + held + charged).toBe(total);
    expect(shown.attempts).toBeGreaterThanOrEqual(attempts);
    ({ attempts } = shown);
    const isOver = shown.completed_at !== null;
    expect(["succeeded", "failed"].includes(shown.status)).toBe(isOver);
    expect(shown.reserved_usd === null).toBe(isOver);
    expect(shown.cost_usd !== null).toBe(isOver);
    expect(shown.output !== null).toBe(shown.status === "succeeded");
    if (!isOver) expect(shown.error).toBeNull();
    if (shown.message !== undefined) expect(shown.status).toBe("running");
  }
  const running = seen.filter(({ shown }) => shown.completed_at === null);
  expect(running.length).toBeGreaterThan(2);
  for (const { held, charged } of running) expect([held, charged]).toEqual([RESERVE, 0]);
};

describe("a generation whose first route fails (§1, §3)", () => {
  const FAULTS = [
    "5xx",
    "429",
    "invalid",
    "403",
    "fail",
    "fail-later",
    "refuse-output",
    "no-file",
    "unreadable",
    "html",
  ] as const;
  test.each(FAULTS)(
    "falls back after %s, charges the second route's price and conserves credits at every poll",
    async (fault) => {
      const { simulator, submit, balance } = await open();
      simulator.script({ fault, provider: "fal" });
      const total = (await balance()).available;
      const queued = await submit(MODEL, INPUT);
      expect(queued).toMatchObject({ quoted_usd: 0.2, reserved_usd: RESERVE / 100, attempts: 0 });
      const seen = await watch(queued.id);
      expectSound(seen, total);
      // The response to the submission is lost: the service first looks for a job, and the message says so.
      if (fault === "5xx") expect(seen.some(({ shown }) => /confirm/i.test(shown.message ?? ""))).toBe(true);
      const last = seen.at(-1);
      expect(last?.shown).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: 0.22, quoted_usd: 0.2, error: null });
      expect(last).toMatchObject({ held: 0, charged: PRICES[1] ?? 0, available: total - (PRICES[1] ?? 0) });
    },
  );

  test("charges nothing and releases the whole hold when every route fails", async () => {
    const { simulator, submit, balance } = await open();
    simulator.script({ fault: "fail" });
    const total = (await balance()).available;
    const seen = await watch((await submit(MODEL, INPUT)).id);
    expectSound(seen, total);
    expect(seen.at(-1)?.shown).toMatchObject({ status: "failed", attempts: 4, cost_usd: 0, error: { code: "provider_failed" } });
    expect(seen.at(-1)).toMatchObject({ held: 0, charged: 0, available: total });
  });

  test("fails without a charge when a route refuses the input", async () => {
    const { simulator, submit, balance } = await open();
    simulator.script({ fault: "refuse", provider: "replicate" });
    simulator.script({ fault: "402", endpoint: "bytedance/seedance-2.0/fast" });
    const total = (await balance()).available;
    const seen = await watch((await submit(MODEL, INPUT)).id);
    expect(seen.at(-1)?.shown).toMatchObject({ status: "failed", cost_usd: 0 });
    expect(seen.at(-1)).toMatchObject({ held: 0, charged: 0, available: total });
  });

  test("does not connect to a result URL with a forbidden address, and falls back", async () => {
    const { simulator, submit } = await open();
    let connections = 0;
    const forbidden = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        connections += 1;
        return new Response("secret");
      },
    });
    try {
      for (const fault of ["elsewhere", "redirect"] as const)
        simulator.script({ fault, provider: "fal", url: `${forbidden.url.origin}/clip.mp4` });
      const seen = await watch((await submit(MODEL, INPUT)).id);
      expect(seen.at(-1)?.shown).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: 0.22 });
      expect(connections).toBe(0);
    } finally {
      await forbidden.stop(true);
    }
  });
});

describe("max_wait_s (§2.5, §8)", () => {
  const WAIT_S = 60;
  /** Advances the clock in steps of 10 s until the generation has ended. @returns its resource and the seconds it took. */
  const outlive = async (id: string) => {
    const shown = await harness.eventually(async () => {
      harness.clock.skip(10_000);
      const now = await harness.show(id);
      return now.completed_at !== null && now;
    }, "the end");
    return { shown, tookS: (Date.parse(shown.completed_at ?? "") - Date.parse(shown.created_at)) / 1000 };
  };

  /** Waits until it runs. Time that passes earlier would count as waiting time. */
  const taken = (id: string) =>
    harness.eventually(async () => (await harness.show(id)).status === "running", "an attempt at a provider");

  test("prevents a fallback after it has passed, and the generation fails without a charge", async () => {
    const { simulator, submit } = await open();
    simulator.script({ fault: "late-ms", ms: (WAIT_S + 60) * 1000 });
    simulator.script({ fault: "no-file" });
    const { id } = await submit(MODEL, INPUT, { max_wait_s: WAIT_S });
    await taken(id);
    const { shown, tookS } = await outlive(id);
    expect(shown).toMatchObject({ status: "failed", attempts: 1, cost_usd: 0, error: { code: "timed_out" } });
    expect(tookS).toBeGreaterThan(WAIT_S);
  });

  test("lets a running attempt finish, which is charged", async () => {
    const { simulator, submit } = await open();
    simulator.script({ fault: "late-ms", ms: 900_000 });
    const { id } = await submit(MODEL, INPUT, { max_wait_s: WAIT_S });
    await taken(id);
    const { shown, tookS } = await outlive(id);
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: 0.2 });
    expect(tookS).toBeGreaterThan(890);
  });

  test("lets a running attempt run until the route's time of 40 minutes, then fails the generation", async () => {
    const { simulator, submit } = await open();
    simulator.script({ fault: "stuck" });
    // The routes of vidmodel-2.5 have the longest time of the catalogue.
    const { id } = await submit("vidmodel-2.5", { prompt: "x", duration: 4 }, { max_wait_s: 150 });
    await taken(id);
    const { shown, tookS } = await outlive(id);
    expect(shown).toMatchObject({ status: "failed", attempts: 1, cost_usd: 0, error: { code: "timed_out" } });
    expect(tookS).toBeGreaterThanOrEqual(2400);
    expect(tookS).toBeLessThan(2460);
  });

  test("fails a generation that is still queued when it has passed, without an attempt", async () => {
    harness = await openApiHarness({ factor: 0, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
    harness.simulator.script({ fault: "stuck" });
    for (let slot = 0; slot < harness.nodes; slot += 1) await harness.submit(MODEL, INPUT);
    const { id } = await harness.submit(MODEL, INPUT, { max_wait_s: WAIT_S });
    const { shown, tookS } = await outlive(id);
    expect(shown).toMatchObject({ status: "failed", attempts: 0, cost_usd: 0, error: { code: "timed_out" } });
    expect(tookS).toBeGreaterThanOrEqual(WAIT_S);
    expect(tookS).toBeLessThan(WAIT_S + 30);
  });
});
