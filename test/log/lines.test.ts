// Log lines of requests: caller, outcome and request id on every line, and no prompts.
import { expect, onTestFinished, test } from "bun:test";
import type { EventFields } from "../../src/logging/events.ts";
import { createTelemetry } from "../../src/telemetry/telemetry.ts";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";

const CANARY = "a canary sings";

const opened = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await openHarness(options);
  onTestFinished(() => harness.close());
  return harness;
};
const submit = (harness: Harness, headers: Record<string, string>, input: object = { prompt: CANARY }) =>
  harness.request("POST", "/v1/generations", { body: { model: "sim-image-1", input }, headers });
const answered = (harness: Harness, requestId: string): EventFields => {
  const found = harness.lines.filter(({ event, fields }) => event === "request completed" && fields.request_id === requestId);
  expect(found).toHaveLength(1);
  return found[0]?.fields ?? {};
};

test("logs one line per submission with account, key, generation, status and error code", async () => {
  const harness = await opened();
  const { accountId, keyId } = harness.tenant;
  const headers = { "x-request-id": "mine-1", "idempotency-key": "k" };
  const made = await submit(harness, headers);
  expect(made.status).toBe(202);
  const caller = {
    method: "POST",
    route: "/v1/generations",
    account_id: accountId,
    key_id: keyId,
    dur_ms: expect.any(Number),
    address: "127.0.0.1",
  };
  expect(answered(harness, "mine-1")).toEqual({
    ...caller,
    request_id: "mine-1",
    status: 202,
    generation_id: String(made.body.id),
  });

  const again = await submit(harness, { ...headers, "x-request-id": "mine-2" });
  expect(again.status).toBe(200);
  expect(answered(harness, "mine-2")).toEqual({
    ...caller,
    request_id: "mine-2",
    status: 200,
    generation_id: String(made.body.id),
  });

  await submit(harness, { "x-request-id": "mine-3" }, { prompt: CANARY, nonsense: 1 });
  expect(answered(harness, "mine-3")).toEqual({ ...caller, request_id: "mine-3", status: 422, error_code: "invalid_input" });

  await harness.request("POST", "/v1/generations", { key: null, headers: { "x-request-id": "mine-4" }, body: {} });
  const { account_id: _, key_id: __, ...rest } = caller;
  expect(answered(harness, "mine-4")).toEqual({ ...rest, request_id: "mine-4", status: 401, error_code: "unauthorized" });
  await harness.until(String(made.body.id));
});

test("logs polls only at level debug", async () => {
  const harness = await opened();
  const { id } = await harness.submit("sim-image-1", { prompt: CANARY });
  await harness.until(id);
  expect(harness.lines.some(({ event }) => event === "read completed")).toBe(false);
  const debugging = await opened({ env: { GENROUTER_LOG__LEVEL: "debug" } });
  await debugging.request("GET", "/v1/generations/gen_none", { headers: { "x-request-id": "look" } });
  const { accountId, keyId } = debugging.tenant;
  expect(debugging.lines.find(({ event }) => event === "read completed")?.fields).toMatchObject({
    ...{ request_id: "look", account_id: accountId, key_id: keyId, status: 404, error_code: "not_found" },
    route: "/v1/generations/:id",
  });
});

test("transfers, attempts and provider calls have the request id of the submission", async () => {
  const harness = await opened();
  const made = await submit(harness, { "x-request-id": "through-and-through" });
  const id = String(made.body.id);
  await harness.until(id);
  const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
  const transfers = await harness.store.transfersOf(seq);
  expect(transfers.map(({ kind, requestId }) => [kind, requestId])).toEqual(
    ["hold", "capture", "release"].slice(0, transfers.length).map((kind) => [kind, "through-and-through"]),
  );
  expect((await harness.store.attemptsOf(seq)).map(({ requestId }) => requestId)).toEqual(["through-and-through"]);
  const reported = (event: string) =>
    harness.lines
      .filter((line) => (line.event as string) === event && line.fields.generation_id === id)
      .map(({ fields }) => fields);
  for (const event of ["generation completed", "attempt ended", "provider call completed"]) {
    expect(reported(event).length).toBeGreaterThan(0);
    expect(reported(event).map(({ request_id }) => request_id)).toEqual(reported(event).map(() => "through-and-through"));
  }
  expect(reported("provider call completed")[0]).toMatchObject({ attempt: 1, method: "POST" });
});

test("logs a failed attempt with its number and error code but without the prompt", async () => {
  const harness = await opened();
  harness.simulator.script({ fault: "fail", times: 1 });
  const { id } = await harness.submit("sim-image-1", { prompt: CANARY });
  await harness.until(id);
  const failed = harness.lines.filter(({ event }) => event === "attempt failed").map(({ fields }) => fields);
  expect(failed[0]).toMatchObject({ generation_id: id, attempt: 1, outcome: "failed", error_code: "job_failed" });
  expect(JSON.stringify(failed)).not.toContain(CANARY);
});

test("logs prompts only with log.prompts", async () => {
  const harness = await opened();
  await harness.until((await harness.submit("sim-image-1", { prompt: CANARY })).id);
  expect(JSON.stringify(harness.lines)).not.toContain(CANARY);
  const verbose = await opened({ env: { GENROUTER_LOG__PROMPTS: "true" } });
  await verbose.until((await verbose.submit("sim-image-1", { prompt: CANARY })).id);
  expect(verbose.lines.find(({ event }) => event === "input measured")?.fields).toMatchObject({
    model: "sim-image-1",
    input: JSON.stringify({ prompt: CANARY }),
  });
});

test("lines about a generation have a trace_id only if traces are exported", () => {
  const about = { version: "1", revision: "r", bunVersion: "b", interfaceVersion: "i" };
  const linesWith = (env: Record<string, string>): EventFields[] => {
    const lines: EventFields[] = [];
    const { log } = createTelemetry((_, fields = {}) => lines.push(fields), env, about);
    log("request completed", { generation_id: "gen_1", request_id: "r" });
    log("request completed", { request_id: "r" });
    return lines;
  };
  expect(linesWith({})).toEqual([{ generation_id: "gen_1", request_id: "r" }, { request_id: "r" }]);
  const [traced, untraced] = linesWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  expect(traced).toEqual({ generation_id: "gen_1", request_id: "r", trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(untraced).toEqual({ request_id: "r" });
});
