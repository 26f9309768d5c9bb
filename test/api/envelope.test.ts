// Tests of the envelope: one row for each rule of §2.5, of §4.1 and of the limits in §8, on both sides of each limit.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DEAR, openStillHarness, type Row, type StillHarness, wideCatalogue } from "./harness.ts";

let harness: StillHarness;
beforeAll(async () => {
  harness = await openStillHarness({ catalogue: wideCatalogue() });
});
afterAll(() => harness.close());

const MODEL = "vidmodel-2.0-mini";
const input = { prompt: "a kite", resolution: "480p", duration: 4 };
const order = { model: MODEL, input };
const text = JSON.stringify(order);
/** The submission as text, padded with white space to a number of bytes. */
const padded = (bytes: number) => text.padEnd(bytes, " ");
/** Nested arrays inside `input`. The body and `input` count as two more levels. */
const nested = (levels: number) => `{"model":"${MODEL}","input":{"x":${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}}}`;
const bad = (...named: string[]) => [400, "invalid_request", ...named] as const;
const no = (...named: string[]) => [422, "invalid_input", ...named] as const;

/** The expected time of the model's fastest route (catalogue/models). */
const QUICKEST_S = 30;
const dear = (duration: number, more: object = {}) => ({ model: DEAR, input: { prompt: "x", duration }, ...more });

const ROWS: Row[] = [
  { name: "a request with the required fields only", body: order, to: 202 },
  { name: "model: missing", body: { input }, to: bad("model", "required") },
  ...[5, null, true, [], {}].map((model) => ({
    name: `model: ${JSON.stringify(model)}`,
    body: { model, input },
    to: bad("model"),
  })),
  { name: "model: empty", body: { model: "", input }, to: [422, "model_not_available", "model"] },
  { name: "model: unknown", body: { model: "vidmodel-9", input }, to: [422, "model_not_available", "vidmodel-9"] },
  { name: "model: other case", body: { model: "VIDMODEL-2.0-mini", input }, to: [422, "model_not_available"] },
  { name: "input: missing", body: { model: MODEL }, to: bad("input", "required") },
  ...[5, null, true, [], "x"].map((value) => ({
    name: `input: ${JSON.stringify(value)}`,
    body: { model: MODEL, input: value },
    to: bad("input"),
  })),
  { name: "input: an object without fields", body: { model: MODEL, input: {} }, to: no("input.prompt") },
  { name: "an unknown top-level field", body: { ...order, webhook: "https://x.example" }, to: bad("webhook") },
  { name: "an input field at the top level", body: { ...order, prompt: "x" }, to: bad("prompt") },
  { name: "a top-level __proto__", body: `${text.slice(0, -1)},"__proto__":{"a":1}}`, to: bad("__proto__") },

  { name: "max_cost_usd: 0", body: { ...order, max_cost_usd: 0 }, to: bad("max_cost_usd", "greater than 0") },
  { name: "max_cost_usd: just above 0", body: { ...order, max_cost_usd: 0.004 }, to: [422, "max_cost_exceeded", "max_cost_usd"] },
  { name: "max_cost_usd: below 0", body: { ...order, max_cost_usd: -1 }, to: bad("max_cost_usd") },
  { name: "max_cost_usd: 100", body: { ...order, max_cost_usd: 100 }, to: 202 },
  { name: "max_cost_usd: 100.01", body: { ...order, max_cost_usd: 100.01 }, to: bad("max_cost_usd", "at most 100") },
  { name: "max_cost_usd: infinite", body: `${text.slice(0, -1)},"max_cost_usd":1e999}`, to: bad("max_cost_usd") },
  ...[null, "5", true, [], {}].map((value) => ({
    name: `max_cost_usd: ${JSON.stringify(value)}`,
    body: { ...order, max_cost_usd: value },
    to: bad("max_cost_usd"),
  })),
  { name: "max_cost_usd: exactly the price of the cheapest route", body: { ...order, max_cost_usd: 0.12 }, to: 202 },
  {
    name: "max_cost_usd: one cent below the price of the cheapest route",
    body: { ...order, max_cost_usd: 0.11 },
    to: [422, "max_cost_exceeded", "0.12"],
  },
  { name: "max_cost_usd: rounded down to credits, sufficient", body: { ...order, max_cost_usd: 0.129 }, to: 202 },
  {
    name: "max_cost_usd: rounded down to credits, insufficient",
    body: { ...order, max_cost_usd: 0.119 },
    to: [422, "max_cost_exceeded"],
  },
  { name: "max_cost_usd: absent, for a price of 100 USD", body: dear(100), to: 202 },
  { name: "max_cost_usd: absent, for a price of 101 USD", body: dear(101), to: [422, "max_cost_exceeded", "max_cost_usd"] },

  { name: "max_wait_s: 0", body: { ...order, max_wait_s: 0 }, to: bad("max_wait_s", "1 to 86400") },
  {
    name: "max_wait_s: 1, below the expected time of every route",
    body: { ...order, max_wait_s: 1 },
    to: no("max_wait_s", String(QUICKEST_S)),
  },
  {
    name: "max_wait_s: 1 s below the expected time of the fastest route",
    body: { ...order, max_wait_s: QUICKEST_S - 1 },
    to: no("max_wait_s", String(QUICKEST_S)),
  },
  { name: "max_wait_s: exactly the expected time of the fastest route", body: { ...order, max_wait_s: QUICKEST_S }, to: 202 },
  { name: "max_wait_s: 86400", body: { ...order, max_wait_s: 86_400 }, to: 202 },
  { name: "max_wait_s: 86401", body: { ...order, max_wait_s: 86_401 }, to: bad("max_wait_s") },
  { name: "max_wait_s: a whole number written with a fraction", body: `${text.slice(0, -1)},"max_wait_s":60.0}`, to: 202 },
  ...[null, 60.5, "60", true, -1, []].map((value) => ({
    name: `max_wait_s: ${JSON.stringify(value)}`,
    body: { ...order, max_wait_s: value },
    to: bad("max_wait_s"),
  })),

  { name: "Idempotency-Key: 1 character", body: order, headers: { "idempotency-key": "k" }, to: 202 },
  { name: "Idempotency-Key: 200 characters", body: order, headers: { "idempotency-key": "k".repeat(200) }, to: 202 },
  {
    name: "Idempotency-Key: 201",
    body: order,
    headers: { "idempotency-key": "k".repeat(201) },
    to: bad("Idempotency-Key", "200"),
  },
  { name: "Idempotency-Key: empty", body: order, headers: { "idempotency-key": "" }, to: bad("Idempotency-Key") },

  { name: "a body of exactly 1 MB", body: padded(1_048_576), to: 202 },
  { name: "a body of 1 MB and one byte", body: padded(1_048_577), to: [413, "body_too_large", "1 MB"] },
  { name: "a body that is not JSON", body: "model=x", to: bad("JSON") },
  { name: "a truncated body", body: text.slice(0, -1), to: bad("JSON") },
  { name: "an empty body", body: "", to: bad("empty") },
  ...["null", "[]", '"x"', "5", "true"].map((body) => ({ name: `a body that is ${body}`, body, to: bad("object") })),
  { name: "64 levels", body: nested(64), to: no("input.x") },
  { name: "65 levels", body: nested(65), to: bad("64 levels") },
  { name: "half a surrogate pair in the model", body: { model: "\ud800", input }, to: bad("model") },
  { name: "a repeated key, of which the last counts", body: `{"model":"vidmodel-9",${text.slice(1)}`, to: 202 },
  ...["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", "nonsense"].map(
    (type): Row => ({ name: `JSON with the Content-Type ${type}`, body: text, headers: { "content-type": type }, to: 202 }),
  ),
];

test.each(ROWS)("§2.5 validates $name", (row) => harness.meets(row));

test.each([
  [1_048_576, 202],
  [1_048_577, 413],
])("§8 a chunked body of %i bytes without Content-Length returns %i", async (bytes, status) => {
  const before = await harness.standing();
  const whole = new TextEncoder().encode(padded(bytes));
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (sent < whole.length) controller.enqueue(whole.subarray(sent, sent + 65_536));
      else controller.close();
      sent += 65_536;
    },
  });
  const headers = { authorization: `Bearer ${harness.rich.key}` };
  const answered = await fetch(`${harness.url}/v1/generations`, { method: "POST", headers, body });
  expect(answered.status).toBe(status);
  const { error } = (await answered.json()) as { error: { code: string } | null };
  expect(error?.code).toBe(status === 202 ? undefined : "body_too_large");
  if (status !== 202) expect(await harness.standing()).toEqual(before);
});

describe("an accepted submission", () => {
  test("returns a queued generation with the price of the cheapest route as quote and of the most expensive as hold", async () => {
    const { body, headers, status } = await harness.request("POST", "/v1/generations", { body: dear(10), key: harness.rich.key });
    expect(status).toBe(202);
    expect(body).toMatchObject({ object: "generation", model: DEAR, status: "queued", quoted_usd: 10, reserved_usd: 15 });
    expect(body).toMatchObject({ output: null, cost_usd: null, attempts: 0, error: null, completed_at: null });
    expect(body).not.toHaveProperty("message");
    expect(headers.get("location")).toBe(`/v1/generations/${body.id}`);
  });

  test("changes the balance and row counts that the checks of rejected submissions compare", async () => {
    const before = await harness.standing();
    await harness.request("POST", "/v1/generations", { body: order, key: harness.rich.key });
    const after = await harness.standing();
    const moved = Object.keys(after).filter((name) => after[name] !== before[name]);
    expect(moved).toEqual(expect.arrayContaining(["available", "held", "inProgress", "generation"]));
  });

  test("holds exactly its reserved credits", async () => {
    const tenant = await harness.newTenant(1500);
    await harness.request("POST", "/v1/generations", { body: dear(10), key: tenant.key });
    expect(await harness.balance(tenant)).toEqual({ available: 0, held: 1500, charged: 0, inProgress: 1 });
  });

  test("excludes routes above max_cost_usd from the hold", async () => {
    for (const [max_cost_usd, reserved] of [
      [15, 15],
      [14.99, 10],
      [10, 10],
    ]) {
      const { body } = await harness.request("POST", "/v1/generations", {
        body: dear(10, { max_cost_usd }),
        key: harness.rich.key,
      });
      expect(body.reserved_usd).toBe(reserved ?? 0);
    }
  });
});
