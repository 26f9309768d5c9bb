// Tests of the cancellation over HTTP: what ends at once, what may still deliver, and what is refused.
import { afterEach, describe, expect, test } from "bun:test";
import type { Harness } from "../harness.ts";
import { codeOf, messageOf, occupy, openApiHarness } from "./harness.ts";

let harness: Harness;
const open = async (env: Record<string, string> = {}) => {
  harness = await openApiHarness({ factor: 0, env });
  return harness;
};
afterEach(() => harness.close());

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
const cancel = (id: string, more: { key?: string; body?: unknown } = {}) =>
  harness.request("POST", `/v1/generations/${id}/cancel`, more);
const seqOf = async (id: string): Promise<number> => (await harness.store.findGeneration(id))?.seq ?? 0;
/** Submits, and waits until the provider of the first attempt has accepted it. */
const submitRunning = async (): Promise<string> => {
  const { id } = await harness.submit(MODEL, INPUT);
  const seq = await seqOf(id);
  await harness.eventually(async () => (await harness.store.attempt(seq, 1))?.state === "accepted", "its job");
  return id;
};
/** Lets time pass until the generation has ended. */
const untilEnded = (id: string) =>
  harness.eventually(async () => {
    harness.clock.skip(5_000);
    const shown = await harness.show(id);
    return shown.completed_at !== null && shown;
  }, "the end");

describe("a generation that waits for a place", () => {
  test("fails as cancelled at once, and its whole hold is released", async () => {
    await open({ GENROUTER_LIMITS__MAX_RUNNING: "1" });
    for (let node = 0; node < harness.nodes; node += 1) await occupy(harness, await harness.newTenant());
    const before = await harness.balance();
    const { id } = await harness.submit(MODEL, INPUT);
    const { status, body } = await cancel(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, status: "failed", cost_usd: 0, attempts: 0, error: { code: "cancelled" } });
    expect(body).not.toHaveProperty("cancel_requested_at");
    expect(await harness.show(id)).toEqual(body as never);
    expect(await harness.balance()).toEqual(before);
  });
});

describe("a generation whose job runs", () => {
  test("stays running until its provider has cancelled the job, then fails without a charge and without a fallback", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "stuck" });
    const before = await harness.balance();
    const id = await submitRunning();
    const { status, body } = await cancel(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "running", cost_usd: null, cancel_requested_at: expect.any(String) });
    expect(await untilEnded(id)).toMatchObject({ status: "failed", attempts: 1, cost_usd: 0, error: { code: "cancelled" } });
    expect(await harness.balance()).toEqual(before);
  });

  test("is charged if it delivers all the same", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "late-ms", ms: 60_000 });
    simulator.script({ fault: "cancel-ignored" });
    const id = await submitRunning();
    expect((await cancel(id)).body).toMatchObject({ status: "running" });
    expect(await harness.show(id)).not.toHaveProperty("cancel_requested_at");
    const { data } = (await harness.request("GET", "/v1/generations?status=running")).body as { data: { id: string }[] };
    expect(data.find((one) => one.id === id)).toHaveProperty("cancel_requested_at");
    expect(await untilEnded(id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: 0.2 });
    const again = await cancel(id);
    expect([again.status, codeOf(again)]).toEqual([409, "already_ended"]);
  });

  test("does not open the circuit breaker of its route", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "stuck" });
    for (let round = 0; round < 8; round += 1) {
      const id = await submitRunning();
      await cancel(id);
      await untilEnded(id);
    }
    expect(harness.lines.filter(({ event }) => event === "route state changed")).toEqual([]);
  });
});

describe("a cancel request", () => {
  test("can be repeated while it is pending and after it took effect", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "stuck" });
    const id = await submitRunning();
    const answers = await Promise.all([cancel(id), cancel(id), cancel(id)]);
    const times = answers.map(({ body }) => body.cancel_requested_at);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(times).size).toBe(1);
    await untilEnded(id);
    expect((await cancel(id)).body).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    const events = await harness.store.eventsOf(await seqOf(id));
    expect(events.filter(({ event }) => event.type === "cancelRequested")).toHaveLength(1);
  });

  test("is 409 after another end, and changes nothing", async () => {
    await open();
    const { id } = await harness.submit(MODEL, INPUT);
    const ended = await untilEnded(id);
    const before = await harness.balance();
    const answer = await cancel(id);
    expect([answer.status, codeOf(answer)]).toEqual([409, "already_ended"]);
    expect(messageOf(answer)).toContain("succeeded");
    expect(await harness.show(id)).toMatchObject({ ...ended, output: expect.anything() });
    expect(await harness.balance()).toEqual(before);
  });

  test("is 404 for a generation of another account and for an unknown id, with the same message", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "stuck" });
    const id = await submitRunning();
    const { key } = await harness.newTenant();
    const answers = [await cancel(id, { key }), await cancel("gen_unknown", { key }), await cancel("%20", { key })];
    expect(answers.map((answer) => [answer.status, codeOf(answer)])).toEqual(answers.map(() => [404, "not_found"]));
    expect(new Set(answers.map(messageOf)).size).toBe(1);
    expect(await harness.show(id)).toMatchObject({ status: "running" });
  });

  test("needs a key that may generate, and a limited key cancels only its own generations", async () => {
    const { simulator, tenant } = await open();
    simulator.script({ fault: "stuck" });
    const id = await submitRunning();
    const admin = await harness.admin();
    const read = await admin.createKey({ reference: "reader", accountId: tenant.accountId, scope: "read", name: "reader" });
    const refused = await cancel(id, { key: read.key });
    expect([refused.status, codeOf(refused)]).toEqual([403, "generation_not_enabled"]);
    const limited = await admin.createKey({
      reference: "limited",
      accountId: tenant.accountId,
      scope: "generate",
      name: "limited",
      terms: { limits: { day: 1_000 } },
    });
    expect((await cancel(id, { key: limited.key })).status).toBe(404);
    const own = await harness.request("POST", "/v1/generations", { key: limited.key, body: { model: MODEL, input: INPUT } });
    expect((await cancel(String(own.body.id), { key: limited.key })).status).toBe(200);
  });

  test("with a body other than {} is 400 and names what is allowed", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "stuck" });
    const id = await submitRunning();
    for (const body of ['{"reason":"late"}', "[]", "null", "1", "{"]) {
      const answer = await cancel(id, { body });
      expect([body, answer.status, codeOf(answer)]).toEqual([body, 400, "invalid_request"]);
    }
    expect(await harness.show(id)).toMatchObject({ status: "running" });
    expect((await cancel(id, { body: "{}" })).status).toBe(200);
  });
});
