// Tests of metadata and end users: which headers are accepted, and what responses return.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { codeOf, messageOf, openStillHarness, type StillHarness } from "./harness.ts";

let harness: StillHarness;
beforeAll(async () => {
  harness = await openStillHarness();
});
afterAll(() => harness.close());

const BODY = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
const post = (headers: Record<string, string>) =>
  harness.request("POST", "/v1/generations", { key: harness.rich.key, body: BODY, headers });
const show = (id: unknown) => harness.request("GET", `/v1/generations/${id}`, { key: harness.rich.key });
const metadata = (value: unknown) => ({ "genrouter-metadata": typeof value === "string" ? value : JSON.stringify(value) });
const utf8 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, "x"]));

describe("a submission with labels", () => {
  test("returns them in the 202, in every poll and after a cancellation", async () => {
    const labels = { order: "7", note: "caf\u00e9" };
    const { status, body } = await post({
      ...metadata('{"order":"7","note":"caf\\u00e9"}'),
      "genrouter-end-user": utf8("Zo\u00eb"),
    });
    expect([status, body.metadata, body.end_user]).toEqual([202, labels, "Zo\u00eb"]);
    expect((await show(body.id)).body).toMatchObject({ metadata: labels, end_user: "Zo\u00eb" });
    const cancelled = await harness.request("POST", `/v1/generations/${body.id}/cancel`, { key: harness.rich.key });
    expect(cancelled.body).toMatchObject({ status: "failed", metadata: labels, end_user: "Zo\u00eb" });
  });

  test("returns neither member without the headers, and only the one that was sent", async () => {
    const none = (await post({})).body;
    expect([Object.hasOwn(none, "metadata"), Object.hasOwn(none, "end_user")]).toEqual([false, false]);
    const one = (await post({ "genrouter-end-user": "ada" })).body;
    expect([Object.hasOwn(one, "metadata"), one.end_user]).toEqual([false, "ada"]);
    expect((await post(metadata({}))).body.metadata).toEqual({});
  });

  test("is no other request under an Idempotency-Key, and a replay returns the first labels", async () => {
    const first = await post({ ...metadata({ order: "1" }), "idempotency-key": "labels" });
    const again = await post({ ...metadata({ order: "2" }), "genrouter-end-user": "ada", "idempotency-key": "labels" });
    expect([again.status, again.body.id, again.body.metadata]).toEqual([200, first.body.id ?? null, { order: "1" }]);
    expect(Object.hasOwn(again.body, "end_user")).toBe(false);
  });
});

describe("Genrouter-Metadata", () => {
  test.each([
    ["16 members", members(16)],
    ["a name of 40 characters", { ["n".repeat(40)]: "x" }],
    ["a value of 500 characters", { a: "v".repeat(500) }],
    ["an empty value", { a: "" }],
    ["a member named __proto__", '{"__proto__":"x"}'],
  ])("accepts %s", async (_name, value) => {
    const { status, body } = await post(metadata(value));
    expect(status).toBe(202);
    expect(JSON.stringify(body.metadata)).toBe(typeof value === "string" ? value : JSON.stringify(value));
  });

  test.each([
    ["17 members", members(17), "17 members"],
    ["a name of 41 characters", { ["n".repeat(41)]: "x" }, "41 characters"],
    ["an empty name", { "": "x" }, "0 characters"],
    ["a value of 501 characters", { long: "v".repeat(501) }, '"long"'],
    ["a number", { a: 1 }, "not a string"],
    ["null", { a: null }, "not a string"],
    ["a nested object", { a: {} }, "not a string"],
    ["a list", "[]", "not an object"],
    ["a string", '"x"', "not an object"],
    ["no JSON", "order=7", "not JSON"],
    ["nothing", "", "not JSON"],
    ["the header twice", '{"a":"1"}, {"a":"2"}', "not JSON"],
    ["characters beyond ASCII", utf8('{"a":"\u00e9"}'), "not ASCII"],
    ["a NUL", '{"a":"\\u0000"}', "NUL"],
    ["an unpaired surrogate", '{"a":"\\ud800"}', "surrogate"],
    ["more than 4,096 bytes", Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`m${at}`, "v".repeat(480)])), "4096"],
  ])("rejects %s with the name of the header, and holds nothing", async (_name, value, named) => {
    const before = await harness.standing();
    const answer = await post(metadata(value));
    expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answer)).toContain("Genrouter-Metadata");
    expect(messageOf(answer)).toContain(named);
    expect(await harness.standing()).toEqual(before);
  });
});

describe("Genrouter-End-User", () => {
  test("accepts 120 characters of any script, and rejects 121 and none", async () => {
    expect((await post({ "genrouter-end-user": utf8("\u96ea".repeat(120)) })).body.end_user).toBe("\u96ea".repeat(120));
    for (const value of [utf8("\u96ea".repeat(121)), ""]) {
      const answer = await post({ "genrouter-end-user": value });
      expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_request"]);
      expect(messageOf(answer)).toContain("Genrouter-End-User");
    }
  });
});

describe("GET /v1/generations?metadata[name]=", () => {
  const list = (query: string, key = harness.rich.key) => harness.request("GET", `/v1/generations?${query}`, { key });
  const idsOf = ({ body }: Awaited<ReturnType<typeof list>>) => (body.data as { id: string }[]).map(({ id }) => id);
  const made: string[] = [];
  beforeAll(async () => {
    for (const [shop, order] of [
      ["north", "1"],
      ["south", "1"],
      ["north", "2"],
      ["north", "1"],
    ])
      made.unshift(String((await post(metadata({ shop, order, note: "a b&c" }))).body.id));
  });

  test("finds the generations with one value, with several, and together with a status, newest first", async () => {
    expect(idsOf(await list("metadata[shop]=north"))).toEqual([made[0], made[1], made[3]].map(String));
    expect(idsOf(await list("metadata[shop]=north&metadata[order]=1"))).toEqual([made[0], made[3]].map(String));
    expect(idsOf(await list("metadata%5Bnote%5D=a%20b%26c&status=queued"))).toEqual(made);
    expect(idsOf(await list("metadata[shop]=north&status=failed"))).toEqual([]);
    expect(idsOf(await list("metadata[shop]=west"))).toEqual([]);
    expect(idsOf(await list("metadata[__proto__]=y"))).toEqual([]);
  });

  test("continues at its cursor, and shows no other account anything", async () => {
    const first = await list("metadata[shop]=north&limit=2");
    expect([idsOf(first), first.body.has_more]).toEqual([[made[0], made[1]].map(String), true]);
    const second = await list(`metadata[shop]=north&limit=2&after=${first.body.next}`);
    expect([idsOf(second), second.body.next]).toEqual([[made[3]].map(String), null]);
    const { key } = await harness.newTenant();
    expect(idsOf(await list("metadata[shop]=north", key))).toEqual([]);
  });

  test.each([
    ["metadata[]=x", "metadata[]"],
    ["metadata=x", "metadata"],
    ["metadata[shop]=a&metadata[shop]=b", "twice"],
    [`metadata[${"n".repeat(41)}]=x`, "40 characters"],
    [`metadata[shop]=${"v".repeat(501)}`, "500 characters"],
    ["metadata[shop]=%00", "NUL"],
    [Array.from({ length: 17 }, (_, at) => `metadata[m${at}]=x`).join("&"), "16"],
  ])("rejects %s", async (query, named) => {
    const answer = await list(query);
    expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answer)).toContain(named);
  });
});
