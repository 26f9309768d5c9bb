// Tests of the precedence of errors in §4.1: for every pair of real causes, the response has the code of higher precedence.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiErrorCode } from "../../src/domain/api-errors.ts";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import type { GenerationResource, Harness, Tenant } from "../harness.ts";
import { openGate } from "./gate.ts";
import { codeOf, openApiHarness } from "./harness.ts";

const MODEL = "vidmodel-2.0-mini";
/** The circuit breakers of all its routes are open from the start. */
const DOWN = "vidmodel-2.0-fast";
/** The hold of a tenant's first submission. */
const FIRST_RESERVE = 16;
const FIRST = { model: MODEL, input: { prompt: "first", resolution: "480p", duration: 4 } };
const KEY = "the key of the first";

type Asked = { key: string | null; body: JsonObject & { input: JsonObject }; padding: number; headers: Record<string, string> };
type Scene = { tenant: Tenant; asked: Asked };
/** A cause changes the account first, then the request. */
type Cause = { account?: (scene: Scene) => Promise<unknown>; request?: (asked: Asked) => void };

let harness: Harness;
const set = ({ tenant }: Scene, change: { paused?: boolean; burstPerS?: number; inProgressLimit?: number }) =>
  harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, ...change });
const spend = async (scene: Scene) => {
  await set(scene, { burstPerS: 1 });
  const read = await harness.request("GET", "/v1/generations/gen_x", { key: scene.tenant.key });
  expect([404, 429]).toContain(read.status);
};
const emptyAccount = async ({ tenant }: Scene) => {
  const { available } = await harness.balance(tenant);
  const credits = -available;
  await harness.components.post({
    mutation: "credit",
    accountSeq: tenant.accountSeq,
    kind: "adjust",
    credits,
    note: "",
    reference: null,
    atMs: 0,
  });
};
/** Creates a second, read-only key of the account. */
const readKey = async ({ tenant, asked }: Scene) => {
  asked.key = newApiKey("test");
  await harness.components.post({
    mutation: "create-key",
    id: newId("key"),
    accountSeq: tenant.accountSeq,
    scope: "read",
    name: "",
    hash: hashApiKey(asked.key),
    start: asked.key.slice(0, 12),
    atMs: 0,
  });
};

/** In the order of precedence (§4.1, "Order of checks"). */
const CAUSES: readonly [code: ApiErrorCode, cause: Cause][] = [
  [
    "unauthorized",
    {
      request: (asked) => {
        asked.key = null;
      },
    },
  ],
  ["account_disabled", { account: (scene) => set(scene, { paused: true }) }],
  ["generation_not_enabled", { account: readKey }],
  ["rate_limited", { account: spend }],
  [
    "body_too_large",
    {
      request: (asked) => {
        asked.padding = 1_048_577;
      },
    },
  ],
  [
    "invalid_request",
    {
      request: ({ body }) => {
        body.nonsense = 1;
      },
    },
  ],
  [
    "idempotency_conflict",
    {
      request: ({ headers }) => {
        headers["idempotency-key"] = KEY;
      },
    },
  ],
  [
    "model_not_available",
    {
      request: ({ body }) => {
        body.model = "vidmodel-9";
      },
    },
  ],
  [
    "invalid_input",
    {
      request: ({ body }) => {
        body.input.duration = 3;
      },
    },
  ],
  [
    "max_cost_exceeded",
    {
      request: ({ body }) => {
        body.max_cost_usd = 0.01;
      },
    },
  ],
  [
    "model_unavailable",
    {
      request: ({ body }) => {
        body.model = DOWN;
      },
    },
  ],
  ["concurrency_limit", { account: (scene) => set(scene, { inProgressLimit: 1 }) }],
  ["insufficient_credits", { account: emptyAccount }],
];
/** Both causes set the model, so they cannot be combined. */
const APART: readonly string[] = ["model_not_available", "model_unavailable"];
const PAIRS = CAUSES.flatMap(([first, one], at) =>
  CAUSES.slice(at).flatMap(([second, other]): [ApiErrorCode, ApiErrorCode, Cause[]][] =>
    first !== second && APART.includes(first) && APART.includes(second) ? [] : [[first, second, [one, other]]],
  ),
);

/** An account with one generation in progress under `KEY`, and a second submission that would be accepted. */
const openScene = async (): Promise<Scene> => {
  const tenant = await harness.newTenant(FIRST_RESERVE + 10_000);
  const headers = { "idempotency-key": KEY };
  expect((await harness.request("POST", "/v1/generations", { key: tenant.key, headers, body: FIRST })).status).toBe(202);
  const body = { ...FIRST, input: { ...FIRST.input, prompt: "second" } };
  return { tenant, asked: { key: tenant.key, body, padding: 0, headers: {} } };
};
/** Applies the causes of the account in reverse order, because a paused account rejects the requests of the others. */
const apply = async (scene: Scene, causes: readonly Cause[]) => {
  for (const { account } of [...causes].reverse()) await account?.(scene);
  for (const { request } of causes) request?.(scene.asked);
};
const send = ({ asked }: Scene) =>
  harness.request("POST", "/v1/generations", {
    key: asked.key,
    headers: asked.headers,
    body: JSON.stringify(asked.body).padEnd(asked.padding, " "),
  });

beforeAll(async () => {
  // The only place in the run queue stays occupied: accepted generations stay queued.
  harness = await openApiHarness({ factor: 0, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  // A 403 opens a single route. A fault of the account would also open the routes of the other model.
  harness.simulator.script({ fault: "403" });
  const failing = await harness.submit(DOWN, { prompt: "opens the breakers" });
  await harness.eventually(async () => {
    harness.clock.skip(1000);
    return (await harness.show(failing.id)).status === "failed";
  }, "the open circuit breakers");
  harness.simulator.clearScript();
  await harness.synchronize();
  harness.simulator.script({ fault: "stuck" });
  const takers: GenerationResource[] = [];
  for (let slot = 0; slot < harness.nodes; slot += 1) takers.push(await harness.submit(MODEL, { prompt: "takes the seat" }));
  for (const { id } of takers) await harness.until(id, (shown) => shown.status === "running");
});
afterAll(() => harness.close());

test.each(PAIRS)("returns %s before %s", async (first, _second, causes) => {
  const scene = await openScene();
  await apply(scene, causes);
  const before = await harness.balance(scene.tenant);
  const answered = await send(scene);
  expect(codeOf(answered)).toBe(first);
  expect(await harness.balance(scene.tenant)).toEqual(before);
});

test("accepts the submission without any of the causes", async () => {
  expect((await send(await openScene())).status).toBe(202);
});

/** Errors that the service returns before it opens a media URL. */
const BEFORE_LINKS: readonly [ApiErrorCode, (scene: Scene) => Promise<unknown>][] = [
  ["insufficient_credits", emptyAccount],
  ["concurrency_limit", (scene) => set(scene, { inProgressLimit: 1 })],
];
test.each(BEFORE_LINKS)("returns %s before the check of media links", async (code, cause) => {
  const scene = await openScene();
  const { input } = scene.asked.body;
  scene.asked.body.input = { ...input, image_url: "https://127.0.0.1/picture.png" };
  expect(codeOf(await send(scene))).toBe("invalid_input");
  await cause(scene);
  expect(codeOf(await send(scene))).toBe(code);
  // A check without a file still comes first.
  scene.asked.body.input = { ...scene.asked.body.input, duration: 3 };
  expect(codeOf(await send(scene))).toBe("invalid_input");
});

/** A change after the first submission does not prevent a replay (§4.1). */
test("returns a replay before the checks of balance, limits, catalogue, circuit breakers and drain", async () => {
  const scene = await openScene();
  await apply(scene, [{ account: emptyAccount }, { account: (each) => set(each, { inProgressLimit: 1 }) }]);
  const headers = { "idempotency-key": KEY };
  const replay = () => harness.request("POST", "/v1/generations", { key: scene.tenant.key, headers, body: FIRST });
  const first = await replay();
  expect(first.status).toBe(200);

  const other = await openApiHarness({ factor: 0 });
  try {
    const key = other.tenant.key;
    const request = (more: object = {}) => other.request("POST", "/v1/generations", { key, body: FIRST, ...more });
    const accepted = await request({ headers });
    const catalogue = { models: [], model: () => undefined, route: () => undefined };
    other.components.replaceCatalogue(catalogue);
    expect(codeOf(await request())).toBe("model_not_available");
    expect((await request({ headers })).body.id).toBe(accepted.body.id ?? "");
    await other.components.drain(0);
    await other.synchronize();
    expect(codeOf(await request())).toBe("restarting");
    expect((await request({ headers })).body.id).toBe(accepted.body.id ?? "");
    expect(codeOf(await request({ headers, body: { ...FIRST, max_wait_s: 60 } }))).toBe("idempotency_conflict");
  } finally {
    await other.close();
  }
});

/** Causes that stop admission. `lost`: causes that expire meanwhile, because a hanging commit outlasts the rate limit window. */
const CLOSED: [code: ApiErrorCode, lost: ApiErrorCode[], close: (gate: ReturnType<typeof openGate>) => Promise<unknown>][] = [
  ["restarting", [], () => harness.components.drain(0).then(() => harness.synchronize())],
  [
    "busy",
    ["rate_limited"],
    async (gate) => {
      gate.shut();
      void harness.components.post({ mutation: "beat", atMs: 0 });
      await harness.eventually(() => gate.waiting() === harness.nodes, "a hanging commit");
      harness.clock.skip(2001);
    },
  ],
];
test.each(CLOSED)(
  "returns %s after the checks of envelope and idempotency key, and before those of model, input and account",
  async (closed, lost, close) => {
    const other = harness;
    const gate = openGate();
    harness = await openApiHarness({ factor: 0, around: gate.around });
    try {
      const scenes: [ApiErrorCode, Scene][] = [];
      for (const [code, cause] of CAUSES) {
        if (lost.includes(code)) continue;
        const scene = await openScene();
        await apply(scene, [cause]);
        scenes.push([code, scene]);
      }
      await close(gate);
      const last = CAUSES.findIndex(([code]) => code === "idempotency_conflict");
      for (const [code, scene] of scenes) {
        const isBefore = CAUSES.findIndex(([each]) => each === code) <= last;
        expect(codeOf(await send(scene))).toBe(isBefore ? code : closed);
      }
      gate.open();
    } finally {
      await harness.close();
      harness = other;
    }
  },
);
