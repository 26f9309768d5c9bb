// Tests of the 503 codes of §7 by their real causes: start, drain, full queue, slow commit, full disk, open circuit breakers.
import { afterEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { nodesAsked } from "../api-multi-node/request.ts";
import type { Harness, HarnessOptions, ParsedResponse } from "../harness.ts";
import { openGate } from "./gate.ts";
import { codeOf, openApiHarness } from "./harness.ts";

let harness: Harness;
const open = async (options: HarnessOptions = {}) => {
  harness = await openApiHarness({ factor: 0, ...options });
  return harness;
};
afterEach(() => harness.close());

const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
const post = (more: Parameters<Harness["request"]>[2] = {}) =>
  harness.request("POST", "/v1/generations", { body: ORDER, ...more });
const keyed = (key: string) => post({ headers: { "idempotency-key": key } });
const outcome = (answered: ParsedResponse) => `${answered.status} ${codeOf(answered)}`.trim();
const expectLater = (answered: ParsedResponse, code: string) => {
  expect(outcome(answered)).toBe(`503 ${code}`);
  expect(Number(answered.headers.get("retry-after"))).toBeGreaterThan(0);
};
/** Advances the clock by one second at every check until a condition holds. */
const passing = <T>(look: () => Promise<T | undefined | false>, what: string) =>
  harness.eventually(() => {
    harness.clock.skip(1000);
    return look();
  }, what);

describe("503 restarting", () => {
  test("is returned for new submissions until recovery has read the store, while polls are served", async () => {
    const { request, components } = await open({ unrecovered: true });
    expectLater(await keyed("once"), "restarting");
    expect(outcome(await request("GET", "/v1/generations/gen_x"))).toBe("404 not_found");
    expect((await request("GET", "/readyz")).status).toBe(503);
    expect((await request("GET", "/v1/models")).status).toBe(200);
    await components.recover();
    expect((await request("GET", "/readyz")).status).toBe(200);
    expect(outcome(await keyed("once"))).toBe("202");
  });

  test("is returned for new submissions during a drain, while polls, downloads and replays are served", async () => {
    const { request, components, simulator, store, submit, balance } = await open();
    const done = await submit("sim-image-1", { prompt: "two pictures", quality: "low" });
    await passing(async () => (await harness.show(done.id)).status === "succeeded", "the first generation");
    simulator.script({ fault: "hang" });
    const first = await keyed("once");
    expect(first.status).toBe(202);
    const seq = (await store.findGeneration(String(first.body.id)))?.seq ?? 0;
    await harness.eventually(async () => (await store.attempt(seq, 1))?.state === "sending", "the attempt in sending");
    await harness.eventually(() => simulator.submissions().length === 2, "the submission at the provider");

    const before = await balance();
    let isOver = false;
    const drained = components.drain(25_000).then(() => {
      isOver = true;
    });
    await harness.synchronize();
    expectLater(await keyed("twice"), "restarting");
    expectLater(await post(), "restarting");
    const replay = await keyed("once");
    expect([replay.status, replay.body.id]).toEqual([200, first.body.id]);
    const shown = await request("GET", `/v1/generations/${first.body.id}`);
    expect(shown.body).toMatchObject({ status: "running", attempts: 1 });
    expect((await request("GET", `/v1/generations/${done.id}/content`)).status).toBe(200);
    expect((await request("GET", "/readyz")).status).toBe(503);
    expect(await balance()).toEqual(before);
    expect(isOver).toBe(false);
    harness.clock.skip(25_000);
    await drained;
    expect(simulator.submissions()).toHaveLength(2);
  });
});

describe("503 busy", () => {
  test("is returned above max_pending_submissions, and the submissions that already wait are accepted", async () => {
    const gate = openGate();
    const { balance } = await open({ around: gate.around, env: { GENROUTER_LIMITS__MAX_PENDING_SUBMISSIONS: "3" } });
    const load = () => harness.components.ledger.load().waiting;
    gate.shut();
    const { nodes } = harness;
    const each = (n: number) => Array.from({ length: nodes }, (_, node) => keyed(`key-${n}-${node}`));
    const waiting = each(0);
    await harness.eventually(() => gate.waiting() === nodes, "a commit at the gate");
    for (let n = 1; n <= 4; n += 1) {
      waiting.push(...each(n));
      await harness.eventually(() => load() === n * nodes, `${n} waiting`);
    }
    expectLater(await keyed("key-5"), "busy");
    expectLater(await post(), "busy");
    expect(load()).toBe(4 * nodes);
    expect((await harness.request("GET", "/v1/generations/gen_x")).status).toBe(404);
    gate.open();
    expect((await Promise.all(waiting)).map(outcome)).toEqual(Array.from({ length: 5 * nodes }, () => "202"));
    expect((await balance()).inProgress).toBe(5 * nodes);
    expect(outcome(await keyed("key-5"))).toBe("202");
  });

  test("is returned while a commit takes more than 2 s", async () => {
    const gate = openGate();
    const { clock } = await open({ around: gate.around });
    gate.shut();
    const { nodes } = harness;
    const each = (key: string) => Array.from({ length: nodes }, (_, node) => keyed(`${key}-${node}`));
    const slow = each("slow");
    await harness.eventually(() => gate.waiting() === nodes, "a commit at the gate");
    clock.skip(2000);
    const beside = each("beside");
    await harness.eventually(() => harness.components.ledger.load().waiting === nodes, "another waiting submission");
    clock.skip(1);
    expectLater(await keyed("late"), "busy");
    gate.open();
    for (const accepted of await Promise.all([...slow, ...beside])) expect(outcome(accepted)).toBe("202");
    expect(outcome(await keyed("late"))).toBe("202");
  });

  // The full disk of PostgreSQL is tested in test/postgres/full.test.ts.
  test.skipIf(nodesAsked() > 1).each(["here", "thread"] as const)(
    "is returned while the disk is full (writer: %s), without a hold; reads are served and a drain does not wait for space",
    async (writer) => {
      const writing = writer === "thread" ? { writer } : {};
      const { balance, request, clock, components, simulator } = await open({ pragmas: { maxPages: 190 }, ...writing });
      // The first generation runs and must be committed later. The others only fill the disk.
      simulator.script({ fault: "late-ms", ms: 20_000 });
      const accepted: string[] = [];
      const send = (prompt: string, n: number) =>
        post({ body: { ...ORDER, input: { ...ORDER.input, prompt } }, headers: { "idempotency-key": `k${n}` } });
      const fill = async (prompt: string): Promise<ParsedResponse> => {
        for (;;) {
          const answered = await send(prompt, accepted.length);
          if (answered.status !== 202) return answered;
          accepted.push(String(answered.body.id));
          expect(accepted.length).toBeLessThan(500);
        }
      };
      const long = "x".repeat(30_000);
      expectLater(await fill(long), "busy");
      clock.skip(500);
      await harness.eventually(() => !components.ledger.load().isFull, "a retry");
      expectLater(await fill("x"), "busy");

      const before = await balance();
      expect(before.inProgress).toBe(accepted.length);
      expectLater(await post(), "busy");
      expect(await balance()).toEqual(before);
      expect((await request("GET", `/v1/generations/${accepted[0]}`)).status).toBe(200);
      const replay = await send(long, 0);
      expect([replay.status, replay.body.id]).toEqual([200, accepted[0] ?? ""]);
      expect((await request("GET", "/readyz")).text).toContain("the disk is full");

      // Deliveries cannot be committed: nothing is charged, and the ledger is full again after each retry.
      for (let n = 0; n < 3; n += 1) {
        clock.skip(30_000);
        await harness.eventually(() => components.ledger.load().isFull, "a failing retry");
      }
      expect(await balance()).toEqual(before);
      await components.drain(0);
    },
  );
});

describe("503 model_unavailable", () => {
  const listed = async () => {
    const { body } = await harness.request("GET", "/v1/models", { key: null });
    return (body.data as JsonObject[]).map((entry) => entry.id);
  };
  const ended = (id: unknown) => passing(async () => (await harness.show(String(id))).status === "failed", "the end");

  test("is returned after a 402 of every provider opened all routes of each account, until their pause ends", async () => {
    const { simulator, balance, clock } = await open();
    simulator.script({ fault: "402" });
    const first = await post();
    await ended(first.body.id);
    await harness.synchronize();
    expect(await harness.show(String(first.body.id))).toMatchObject({
      error: { code: "provider_failed" },
      cost_usd: 0,
      // One attempt for each provider account.
      attempts: 2,
    });
    const before = await balance();
    expectLater(await keyed("once"), "model_unavailable");
    expect(await balance()).toEqual(before);
    expect(await listed()).toEqual([]);
    expect(outcome(await post({ body: { ...ORDER, model: "vidmodel-2.0" } }))).toBe("503 model_unavailable");
    expect(outcome(await keyed("once"))).toBe("503 model_unavailable");
    simulator.clearScript();
    clock.skip(600_000);
    await harness.synchronize();
    expect(await listed()).toContain(ORDER.model);
    expect(outcome(await keyed("once"))).toBe("202");
  });

  test("is returned after five consecutive failures of the only route, and the model leaves the list", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "fail" });
    const model = "sim-upscale-1";
    const body = { model, input: { image_url: `${simulator.url}/samples/picture.png?width=16&height=16` } };
    // Each node counts failures separately, and an open route is open on all nodes.
    let failures = 0;
    for (let answered = await post({ body }); answered.status !== 503; answered = await post({ body })) {
      expect(outcome(answered)).toBe("202");
      expect(await listed()).toContain(model);
      await ended(answered.body.id);
      await harness.synchronize();
      failures += 1;
    }
    expect(failures).toBeGreaterThanOrEqual(5);
    expect(failures).toBeLessThanOrEqual(5 * harness.nodes);
    expectLater(await post({ body }), "model_unavailable");
    expect(await listed()).not.toContain(model);
  });
});
