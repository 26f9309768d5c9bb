// Generations in the console: quotes, holds, charges and access; a member sees no route or provider.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type {
  ErasedGeneration,
  GenerationDetail,
  GenerationDto,
  GenerationsPage,
  ModelsDto,
  QuoteDto,
} from "../../src/console/generations-dto.ts";
import { type Harness, openHarness } from "../harness.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { type MakingStage, openMakingStage } from "./generations-fixture.ts";

let harness: Harness;
let stage: MakingStage;
beforeEach(async () => {
  harness = await openHarness();
  stage = openMakingStage(harness);
});
afterEach(async () => {
  await stage.stop();
  await harness.close();
});

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite over the sea", resolution: "480p", duration: 4 };
const quote = async (body: object, as = "member") => (await stage.ask<QuoteDto>("POST", "/quote", { body, as })).body;
let keys = 0;
const make = async (model: string, input: object, more: { as?: string; key?: string } = {}) => {
  keys += 1;
  const headers = { "idempotency-key": more.key ?? `key-${keys}` };
  const made = await stage.ask<GenerationDto>("POST", "/generations", {
    body: { model, input },
    as: more.as ?? "member",
    headers,
  });
  expect(made.status).toBe(200);
  return made.body;
};
const detail = async (id: string, as = "member") => (await stage.ask<GenerationDetail>("GET", `/generations/${id}`, { as })).body;
const list = async (query = "", as = "member") => (await stage.ask<GenerationsPage>("GET", `/generations${query}`, { as })).body;

test("returns the models of the API with the usual time of their fastest route, and the mode", async () => {
  const { body } = await stage.ask<ModelsDto>("GET", "/models");
  expect(body.mode).toBe("test");
  const listed = (await harness.request("GET", "/v1/models", { key: null })).body.data;
  expect(body.models.map(({ expectedS: _, ...entry }) => entry)).toEqual(listed as never);
  const routes = sampleCatalogue().model("sim-image-1")?.routes ?? [];
  const fastestS = Math.min(...routes.map(({ expected_s: seconds }) => seconds));
  expect(body.models.find(({ id }) => id === "sim-image-1")?.expectedS).toBe(fastestS);
});

test("searches words in prompts, models and ids", async () => {
  const { id } = await harness.submit("sim-image-1", { prompt: "A Zebra under an umbrella" });
  const found = async (q: string) => (await list(`?q=${encodeURIComponent(q)}`)).generations.map((one) => one.id);
  for (const q of ["zebra umbrella", "UMBRELLA sim-image", id]) expect([q, await found(q)]).toEqual([q, [id]]);
  expect(await found("zebra vidmodel")).toEqual([]);
  expect((await stage.ask("GET", `/generations?q=${"x".repeat(201)}`)).status).toBe(400);
});

describe("a quote", () => {
  test("is the amount that a submission then holds and charges", async () => {
    const reported = await quote({ model: MODEL, input: INPUT });
    expect(reported).toMatchObject({
      refusal: null,
      quotedCredits: 20,
      reservedCredits: 28,
      leastCredits: 20,
      mostCredits: 28,
      timedBy: [],
    });
    const made = await make(MODEL, INPUT);
    expect(made).toMatchObject({ status: "queued", quotedCredits: 20, reservedCredits: 28 });
    expect(await harness.balance()).toMatchObject({ held: 28 });
    expect((await harness.until(made.id)).cost_usd).toBe(0.2);
    expect((await detail(made.id)).money).toEqual({ heldCredits: 28, chargedCredits: 20, releasedCredits: 8 });
  });

  test("numbers the routes for a member and names their providers for an operator and a viewer", async () => {
    const reported = await quote({ model: MODEL, input: INPUT });
    expect(reported).toMatchObject({ routes: [{ n: 1, priceCredits: 20 }, { n: 2 }, { n: 3 }, { n: 4 }] });
    expect(JSON.stringify(reported)).not.toMatch(/fal|replicate|seedance|bytedance/i);
    stage.signIn("op", "operator", null);
    stage.signIn("view", "viewer", null);
    for (const as of ["op", "view"])
      expect(await quote({ model: MODEL, input: INPUT }, as)).toMatchObject({ routes: [{ n: 1, provider: "fal" }, {}, {}, {}] });
  });

  test("returns an error as a value, with its field", async () => {
    expect(await quote({ model: MODEL, input: { ...INPUT, duration: 99 } })).toMatchObject({
      refusal: { code: "invalid_input", field: "duration" },
    });
    expect(await quote({ model: MODEL, input: INPUT, max_cost_usd: 0.01 })).toMatchObject({
      refusal: { code: "max_cost_exceeded", field: "max_cost_usd" },
    });
    expect(await quote({ model: "none", input: {} })).toMatchObject({ refusal: { code: "model_not_available", field: "model" } });
    expect(await quote({ model: MODEL, input: INPUT, more: 1 })).toMatchObject({ refusal: { code: "invalid_request" } });
  });

  test("lists the routes that the caller's own limits skip", async () => {
    const reported = await quote({ model: MODEL, input: INPUT, max_cost_usd: 0.24 });
    expect(reported).toMatchObject({ mostCredits: 24, reservedCredits: 24, skipped: [{ why: "over max_cost_usd" }] });
  });
});

describe("a submission", () => {
  test("belongs to the account: its API key can poll it, and a repeated idempotency key returns the same generation", async () => {
    const made = await make(MODEL, INPUT, { key: "once" });
    const again = await make(MODEL, INPUT, { key: "once" });
    expect(again.id).toBe(made.id);
    expect((await harness.show(made.id)).id).toBe(made.id);
    expect((await list()).generations.map(({ id }) => id)).toEqual([made.id]);
    const other = await stage.ask("POST", "/generations", {
      body: { model: MODEL, input: { ...INPUT, duration: 5 } },
      headers: { "idempotency-key": "once" },
    });
    expect(other).toMatchObject({ status: 409, body: { error: { code: "idempotency_conflict" } } });
  });

  test("is rejected without an Idempotency-Key, beyond the balance, for a paused account and without an account", async () => {
    const ask = (as: string, headers: Record<string, string> = { "idempotency-key": as }) =>
      stage.ask("POST", "/generations", { body: { model: MODEL, input: INPUT }, as, headers });
    expect(await ask("member", {})).toMatchObject({ status: 400, body: { error: { code: "invalid_request" } } });
    const poor = await harness.newTenant(5);
    stage.signIn("poor", "member", poor);
    expect(await ask("poor")).toMatchObject({ status: 402, body: { error: { code: "insufficient_credits" } } });
    const paused = await harness.newTenant();
    stage.signIn("paused", "member", paused);
    await harness.components.post({ mutation: "set-account", accountSeq: paused.accountSeq, paused: true });
    expect(await ask("paused")).toMatchObject({ status: 403, body: { error: { code: "account_disabled" } } });
    stage.signIn("view", "viewer", null);
    expect((await ask("view")).status).toBe(403);
    stage.signIn("viewOfOwn", "viewer", await harness.newTenant());
    expect(await ask("viewOfOwn")).toMatchObject({ status: 403, body: { error: { code: "forbidden" } } });
  });

  test("counts towards the burst limit of the account together with its API keys", async () => {
    const still = await openHarness({ factor: 0, env: { GENROUTER_LIMITS__BURST_PER_S: "2" } });
    const its = openMakingStage(still);
    const send = (key: string) =>
      its.ask("POST", "/generations", { body: { model: MODEL, input: INPUT }, headers: { "idempotency-key": key } });
    expect((await still.request("GET", "/v1/generations/gen_none")).status).toBe(404);
    expect((await send("one")).status).toBe(200);
    expect(await send("two")).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
    await its.stop();
    await still.close();
  });
});

describe("the list", () => {
  test("is newest first, continues at its cursor, and filters", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 60; n += 1)
      ids.unshift((await make(n % 3 === 0 ? MODEL : "vidmodel-2.0", { ...INPUT, prompt: `clip ${n}` })).id);
    const first = await list();
    expect(first.generations.map(({ id }) => id)).toEqual(ids.slice(0, 50));
    expect(first.generations[0]).toMatchObject({ prompt: "clip 59", kind: "video", accountId: null });
    const rest = await list(`?before=${first.next}`);
    expect(rest.generations.map(({ id }) => id)).toEqual(ids.slice(50));
    expect(rest.next).toBeNull();
    expect((await list(`?model=${MODEL}`)).generations).toHaveLength(20);
    expect((await list("?kind=image")).generations).toHaveLength(0);
    expect((await list("?kind=video&status=failed")).generations).toHaveLength(0);
    const [oldest, newest] = [rest.generations.at(-1)?.createdAtMs ?? 0, first.generations[0]?.createdAtMs ?? 0];
    expect((await list(`?to=${oldest}`)).generations).toHaveLength(0);
    expect((await list(`?from=${newest + 1}`)).generations).toHaveLength(0);
    expect((await list(`?from=${oldest}&to=${newest + 1}&model=${MODEL}`)).generations).toHaveLength(20);
    expect((await list(`?key=${harness.tenant.keyId}`)).generations).toHaveLength(0);
    expect((await list("?key=playground")).generations).toHaveLength(50);
    const wrong = await stage.ask("GET", "/generations?status=done");
    expect(wrong).toMatchObject({ status: 400, body: { error: { code: "invalid" } } });
  });

  test("of one account never contains another's generations at any cursor; operators see all accounts or one", async () => {
    const other = await harness.newTenant();
    stage.signIn("other", "member", other);
    stage.signIn("op", "operator", null);
    const [mine, theirs] = [await make(MODEL, INPUT), await make(MODEL, INPUT, { as: "other" })];
    const theirSeq = (await harness.store.findGeneration(theirs.id))?.seq ?? 0;
    expect((await list(`?before=${-theirSeq}`)).generations).toEqual([]);
    expect((await stage.ask("GET", `/generations?account=${other.accountId}`)).status).toBe(404);
    expect((await list("", "op")).generations.map(({ id }) => id)).toEqual([theirs.id, mine.id]);
    expect((await list(`?account=${other.accountId}`, "op")).generations).toMatchObject([
      { id: theirs.id, accountId: other.accountId },
    ]);
    expect(
      (await list("?status=queued", "other")).generations.length + (await list("?status=running", "other")).generations.length,
    ).toBeLessThanOrEqual(1);
  });
});

describe("the key that made a generation", () => {
  test("is named in the list and in the details, also after its revocation, and filters the list", async () => {
    const { keyId, accountId } = harness.tenant;
    const { id } = await harness.submit(MODEL, INPUT);
    // A key without a name is shown by its first characters.
    expect((await detail(id)).keyName).toBe(`${(await harness.store.keys(accountId))[0]?.start}…`);
    await harness.components.post({ mutation: "set-key", keyId, name: "laptop", atMs: harness.clock.nowMs() });
    const other = await make(MODEL, INPUT);
    expect(other).toMatchObject({ keyId: "playground", keyName: "Playground" });
    await harness.components.post({ mutation: "revoke-key", keyId, atMs: harness.clock.nowMs() });
    stage.signIn("op", "operator", null);
    for (const as of ["member", "op"]) {
      expect((await list("", as)).generations.map((one) => [one.id, one.keyName])).toEqual([
        [other.id, "Playground"],
        [id, "laptop"],
      ]);
      expect(await detail(id, as)).toMatchObject({ keyId, keyName: "laptop" });
      expect(await detail(other.id, as)).toMatchObject({ keyId: "playground", keyName: "Playground" });
      expect((await list(`?key=${keyId}`, as)).generations.map((one) => one.id)).toEqual([id]);
      expect((await list("?key=playground", as)).generations.map((one) => one.id)).toEqual([other.id]);
    }
    // A key of another account finds nothing of it.
    stage.signIn("other", "member", await harness.newTenant());
    expect((await list(`?key=${keyId}`, "other")).generations).toEqual([]);
  });
});

describe("one generation", () => {
  test("of another account returns the same 404 as one that does not exist", async () => {
    stage.signIn("other", "member", await harness.newTenant());
    const { id } = await make(MODEL, INPUT);
    await harness.until(id);
    for (const path of [`/generations/${id}`, `/generations/${id}/files/1`, `/generations/${id}/files/1/thumb`]) {
      const foreign = await stage.ask("GET", path, { as: "other" });
      const never = await stage.ask("GET", path.replace(id, "gen_nothing"), { as: "other" });
      expect(foreign).toMatchObject({ status: 404, text: never.text });
    }
  });

  test("shows its attempts, money and input; a member sees no route and no provider message", async () => {
    harness.simulator.script({ fault: "fail", provider: "fal" });
    const { id } = await make(MODEL, INPUT);
    await harness.until(id);
    const reported = await detail(id);
    expect(reported.timeline).toMatchObject([
      { n: 1, state: "Failed", outcome: "bad", why: "The work failed on this route.", operator: null },
      { n: 2, state: "Delivered", outcome: "good", why: null, priceCredits: 22 },
    ]);
    for (const { beganAtMs, sentAtMs, endedAtMs } of reported.timeline) {
      expect(sentAtMs).toBeGreaterThanOrEqual(beganAtMs);
      expect(endedAtMs).toBeGreaterThan(sentAtMs ?? 0);
    }
    expect(reported).toMatchObject({ input: INPUT, money: { heldCredits: 28, chargedCredits: 22, releasedCredits: 6 } });
    expect(reported.entries.map(({ kind }) => kind)).toEqual(["hold", "capture", "release"]);
    const attempts = await harness.store.attemptsOf((await harness.store.findGeneration(id))?.seq ?? 0);
    const text = JSON.stringify(reported);
    for (const { route, failure, job } of attempts)
      for (const secret of [route.routeId, route.provider, route.endpoint, failure?.detail, job?.jobId])
        if (secret) expect(text.replaceAll("false", "")).not.toContain(secret);
    stage.signIn("view", "viewer", null);
    expect((await detail(id, "view")).timeline).toMatchObject([
      { operator: { provider: "fal", routeId: attempts[0]?.route.routeId, failure: { class: "job_failed" } } },
      { operator: { provider: "replicate" } },
    ]);
  });

  test("can be cancelled by a member of its account and by an operator, not by others", async () => {
    harness.simulator.script({ fault: "cancel-ignored" });
    harness.simulator.script({ fault: "stuck" });
    const { id } = await make(MODEL, INPUT);
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    await harness.eventually(async () => (await harness.store.attempt(seq, 1))?.state === "accepted", "its job");
    stage.signIn("other", "member", await harness.newTenant());
    expect((await stage.ask("POST", `/generations/${id}/cancel`, { as: "other", body: {} })).status).toBe(404);
    expect((await detail(id)).cancelRequestedAtMs).toBeNull();
    const cancelled = await stage.ask<GenerationDetail>("POST", `/generations/${id}/cancel`, { as: "member", body: {} });
    const { cancelRequestedAtMs } = cancelled.body;
    expect([cancelled.body.status, typeof cancelRequestedAtMs]).toEqual(["running", "number"]);
    stage.signIn("ada", "operator", null);
    const again = await stage.ask<GenerationDetail>("POST", `/generations/${id}/cancel`, { as: "ada", body: {} });
    expect(again.body.cancelRequestedAtMs).toBe(cancelRequestedAtMs);
    const events = await harness.store.eventsOf(seq);
    expect(events.at(-1)?.event).toMatchObject({ type: "cancelRequested", by: "per_member" });
  });

  test("can be deleted by a member of its account and by an operator, not by others, and the audit log has it", async () => {
    const { id } = await make(MODEL, INPUT);
    const early = await stage.ask("DELETE", `/generations/${id}`, { as: "member" });
    expect([early.status, (early.body as { error?: { code: string } }).error?.code]).toEqual([409, "not_ended"]);
    await harness.until(id);
    stage.signIn("other", "member", await harness.newTenant());
    expect((await stage.ask("DELETE", `/generations/${id}`, { as: "other" })).status).toBe(404);
    stage.signIn("eve", "viewer", null);
    expect((await stage.ask("DELETE", `/generations/${id}`, { as: "eve" })).status).toBe(403);
    expect(await detail(id)).toMatchObject({ erasedAtMs: null, prompt: INPUT.prompt });
    const deleted = await stage.ask<ErasedGeneration>("DELETE", `/generations/${id}`, { as: "member" });
    expect([deleted.status, deleted.body.backups]).toEqual([200, []]);
    expect(deleted.body.generation).toMatchObject({ prompt: null, input: {}, files: [], areFilesGone: true });
    stage.signIn("ada", "operator", null);
    expect((await stage.ask("DELETE", `/generations/${id}`, { as: "ada" })).status).toBe(200);
    const entries = await harness.store.audit(null, 10, { action: "erase-generation" });
    expect(entries.map(({ target }) => target)).toEqual([id, id]);
  });

  test("shows the metadata and the end user of its request", async () => {
    const headers = { "genrouter-metadata": '{"order":"7"}', "genrouter-end-user": "ada" };
    const made = await harness.request("POST", "/v1/generations", { body: { model: MODEL, input: INPUT }, headers });
    expect(await detail(String(made.body.id))).toMatchObject({ metadata: { order: "7" }, endUser: "ada" });
    expect(await detail((await make(MODEL, INPUT)).id)).toMatchObject({ metadata: null, endUser: null });
  });
});
