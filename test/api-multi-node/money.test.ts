// Tests of several nodes over one database: balances, keys and limits are exact on every node.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Harness, ParsedResponse } from "../harness.ts";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";

const NODES = 3;
const MODEL = "vidmodel-2.0";
const INPUT = { prompt: "a harbour at dawn", duration: 5 };
const counted = (answers: readonly ParsedResponse[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, all]) => [`${status}`, all.length]).sort());

describe.skipIf(postgresReason !== undefined)(`three nodes${postgresReason ? `: ${postgresReason}` : ""}`, () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await openHarnessOfNodes(NODES, {
      env: { GENROUTER_LIMITS__IN_PROGRESS: "100000", GENROUTER_LIMITS__SLOW_COMMIT_MS: "3600000" },
      factor: 20,
    });
  }, 60_000);
  afterEach(() => harness.close());

  const reserveOf = async (): Promise<number> => {
    const { reserved_usd } = await harness.submit(MODEL, INPUT);
    return Math.round((reserved_usd ?? 0) * 100);
  };

  test("accept exactly 50 of 200 concurrent submissions with a balance for 50", async () => {
    const credits = await reserveOf();
    const tenant = await harness.newTenant(credits * 50 + credits - 1);
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        harness.request("POST", "/v1/generations", { key: tenant.key, body: { model: MODEL, input: INPUT } }),
      ),
    );
    expect(counted(answers)).toEqual({ 202: 50, 402: 150 });
  }, 60_000);

  test("create one generation for an idempotency key that is sent to all nodes concurrently", async () => {
    const headers = { "idempotency-key": "the same" };
    const answers = await Promise.all(
      Array.from({ length: 60 }, () =>
        harness.request("POST", "/v1/generations", { headers, body: { model: MODEL, input: INPUT } }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(counted(answers)).toEqual({ 200: 59, 202: 1 });
  }, 60_000);

  test("serve the resource and the file of a generation that any node accepted", async () => {
    const { id } = await harness.submit(MODEL, INPUT);
    await harness.until(id);
    for (let turn = 0; turn < NODES; turn += 1) expect((await harness.show(id)).status).toBe("succeeded");
    for (let turn = 0; turn < NODES; turn += 1) {
      const { status } = await harness.request("GET", `/v1/generations/${id}/content`);
      expect([200, 302]).toContain(status);
    }
  }, 60_000);

  test("reject a key on all nodes after its revocation on one node", async () => {
    const tenant = await harness.newTenant();
    for (let turn = 0; turn < NODES; turn += 1)
      expect((await harness.request("GET", "/v1/generations/gen_none", { key: tenant.key })).status).toBe(404);
    await harness.components.post({ mutation: "revoke-key", keyId: tenant.keyId, atMs: harness.clock.nowMs() });
    await harness.eventually(async () => {
      const statuses: number[] = [];
      for (let turn = 0; turn < NODES; turn += 1)
        statuses.push((await harness.request("GET", "/v1/generations/gen_none", { key: tenant.key })).status);
      return statuses.every((status) => status === 401);
    }, "the rejection of the key on all nodes");
  }, 60_000);
});
