// What the log tells of a request: who, what came of it, and the request id on every line, to the ledger and the provider's call; no prompts.
import { expect, onTestFinished, test } from "bun:test";
import type { EventFields } from "../../src/logging/events.ts";
import { createTelemetry } from "../../src/telemetry/telemetry.ts";
import { type House, type HouseOptions, openHouse } from "../harness.ts";

const CANARY = "a canary sings";

const opened = async (options: HouseOptions = {}): Promise<House> => {
  const house = await openHouse(options);
  onTestFinished(() => house.close());
  return house;
};
const submit = (house: House, headers: Record<string, string>, input: object = { prompt: CANARY }) =>
  house.ask("POST", "/v1/generations", { body: { model: "sim-image-1", input }, headers });
const answered = (house: House, requestId: string): EventFields => {
  const found = house.lines.filter(({ event, fields }) => event === "request answered" && fields.request_id === requestId);
  expect(found).toHaveLength(1);
  return found[0]?.fields ?? {};
};

test("one line for a submission: who, which generation, how it ended", async () => {
  const house = await opened();
  const { accountId, keyId } = house.tenant;
  const headers = { "x-request-id": "mine-1", "idempotency-key": "k" };
  const made = await submit(house, headers);
  expect(made.status).toBe(202);
  const caller = {
    method: "POST",
    route: "/v1/generations",
    account_id: accountId,
    key_id: keyId,
    dur_ms: expect.any(Number),
    address: "127.0.0.1",
  };
  expect(answered(house, "mine-1")).toEqual({
    ...caller,
    request_id: "mine-1",
    status: 202,
    generation_id: String(made.body.id),
  });

  const again = await submit(house, { ...headers, "x-request-id": "mine-2" });
  expect(again.status).toBe(200);
  expect(answered(house, "mine-2")).toEqual({
    ...caller,
    request_id: "mine-2",
    status: 200,
    generation_id: String(made.body.id),
  });

  await submit(house, { "x-request-id": "mine-3" }, { prompt: CANARY, nonsense: 1 });
  expect(answered(house, "mine-3")).toEqual({ ...caller, request_id: "mine-3", status: 422, error_code: "invalid_input" });

  await house.ask("POST", "/v1/generations", { key: null, headers: { "x-request-id": "mine-4" }, body: {} });
  const { account_id: _, key_id: __, ...nobody } = caller;
  expect(answered(house, "mine-4")).toEqual({ ...nobody, request_id: "mine-4", status: 401, error_code: "unauthorized" });
  await house.until(String(made.body.id));
});

test("polls have no line, but for the one who asks for all", async () => {
  const house = await opened();
  const { id } = await house.submit("sim-image-1", { prompt: CANARY });
  await house.until(id);
  expect(house.lines.some(({ event }) => event === "read answered")).toBe(false);
  const debugging = await opened({ env: { GENROUTER_LOG__LEVEL: "debug" } });
  await debugging.ask("GET", "/v1/generations/gen_none", { headers: { "x-request-id": "look" } });
  const { accountId, keyId } = debugging.tenant;
  expect(debugging.lines.find(({ event }) => event === "read answered")?.fields).toMatchObject({
    ...{ request_id: "look", account_id: accountId, key_id: keyId, status: 404, error_code: "not_found" },
    route: "/v1/generations/:id",
  });
});

test("the request id goes through to the ledger, the attempt and the provider's call", async () => {
  const house = await opened();
  const made = await submit(house, { "x-request-id": "through-and-through" });
  const id = String(made.body.id);
  await house.until(id);
  const seq = (await house.store.findGeneration(id))?.seq ?? 0;
  const movements = await house.store.movementsOf(seq);
  expect(movements.map(({ kind, requestId }) => [kind, requestId])).toEqual(
    ["hold", "capture", "release"].slice(0, movements.length).map((kind) => [kind, "through-and-through"]),
  );
  expect((await house.store.attemptsOf(seq)).map(({ requestId }) => requestId)).toEqual(["through-and-through"]);
  const told = (event: string) =>
    house.lines
      .filter((line) => (line.event as string) === event && line.fields.generation_id === id)
      .map(({ fields }) => fields);
  for (const event of ["generation ended", "attempt ended", "provider called"]) {
    expect(told(event).length).toBeGreaterThan(0);
    expect(told(event).map(({ request_id }) => request_id)).toEqual(told(event).map(() => "through-and-through"));
  }
  expect(told("provider called")[0]).toMatchObject({ attempt: 1, method: "POST" });
});

test("a failed attempt is told with its route and the class of its failure, and not with what the provider said", async () => {
  const house = await opened();
  house.simulator.script({ fault: "fail", times: 1 });
  const { id } = await house.submit("sim-image-1", { prompt: CANARY });
  await house.until(id);
  const failed = house.lines.filter(({ event }) => event === "attempt failed").map(({ fields }) => fields);
  expect(failed[0]).toMatchObject({ generation_id: id, attempt: 1, outcome: "failed", error_code: "job_failed" });
  expect(JSON.stringify(failed)).not.toContain(CANARY);
});

test("prompts are told only where the operator has switched it on", async () => {
  const house = await opened();
  await house.until((await house.submit("sim-image-1", { prompt: CANARY })).id);
  expect(JSON.stringify(house.lines)).not.toContain(CANARY);
  const telling = await opened({ env: { GENROUTER_LOG__PROMPTS: "true" } });
  await telling.until((await telling.submit("sim-image-1", { prompt: CANARY })).id);
  expect(telling.lines.find(({ event }) => event === "input read")?.fields).toMatchObject({
    model: "sim-image-1",
    input: JSON.stringify({ prompt: CANARY }),
  });
});

test("lines about a generation name its trace while traces are sent, and only then", () => {
  const about = { version: "1", revision: "r", bunVersion: "b", interfaceVersion: "i" };
  const linesWith = (env: Record<string, string>): EventFields[] => {
    const lines: EventFields[] = [];
    const { log } = createTelemetry((_, fields = {}) => lines.push(fields), env, about);
    log("request answered", { generation_id: "gen_1", request_id: "r" });
    log("request answered", { request_id: "r" });
    return lines;
  };
  expect(linesWith({})).toEqual([{ generation_id: "gen_1", request_id: "r" }, { request_id: "r" }]);
  const [traced, untraced] = linesWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  expect(traced).toEqual({ generation_id: "gen_1", request_id: "r", trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(untraced).toEqual({ request_id: "r" });
});
