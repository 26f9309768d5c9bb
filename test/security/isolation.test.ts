// Account isolation: a generation of another account is indistinguishable from one that does not exist.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generationId } from "../../src/domain/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { openApiHarness } from "../api/harness.ts";
import type { Harness, Tenant } from "../harness.ts";
import { newGenerationSeq } from "../new-generation.ts";

/** The store reads of generations, in order. */
const asked: string[] = [];
const counting = (store: Store): Store =>
  new Proxy(store, {
    get: (target, name: keyof Store) => {
      const member: unknown = target[name];
      if (typeof member !== "function") return member;
      if (!/^(generation|find|attempt|input|journal)/.test(name)) return member.bind(target) as unknown;
      return (...words: unknown[]) => {
        asked.push(name);
        return (member as (...words: unknown[]) => unknown).apply(target, words);
      };
    },
  });

const SEED = 20_261_121;
/** Deterministic: returns the same ids in each run. */
const randomIds = (count: number): string[] => {
  const letters = "0123456789abcdefghjkmnpqrstvwxyz";
  let state = SEED;
  const letter = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return letters.charAt((state >>> 16) & 31);
  };
  return Array.from({ length: count }, () => `gen_${Array.from({ length: 21 }, letter).join("")}`);
};

let harness: Harness;
let stranger: Tenant;
let id = "";
beforeAll(async () => {
  harness = await openApiHarness({ around: counting });
  stranger = await harness.newTenant();
  id = (await harness.submit("sim-image-1", { prompt: "mine" })).id;
  await harness.until(id);
});
afterAll(() => harness.close());

const AT = ["", "/content", "/content/2"];
const see = async (of: string, at: string, key: string) => {
  asked.length = 0;
  const { status, text, headers } = await harness.request("GET", `/v1/generations/${of}${at}`, { key });
  const reported = [...headers].filter(([name]) => name !== "x-request-id" && name !== "date");
  return { status, text, reported, asked: [...asked] };
};

test("returns 404 with the same bytes for 1,000 unknown ids and for the id of another account", async () => {
  const near = randomIds(500).map((other) => id.slice(0, -10) + other.slice(-10));
  const texts = new Set<string>();
  for (const of of [...randomIds(500), ...near, id]) {
    const { status, text } = await see(of, "", stranger.key);
    expect(status).toBe(404);
    texts.add(text);
  }
  expect([...texts]).toHaveLength(1);
  expect((await see(id, "", harness.tenant.key)).status).toBe(200);
});

describe("a request of another account costs the same single store read for", () => {
  const IDS: [what: string, of: () => string][] = [
    ["an existing generation that is in memory", () => id],
    ["an id with the same row number and another suffix", () => id.slice(0, -10) + (id.endsWith("0") ? "1" : "0").repeat(10)],
    ["a future row number", () => generationId(newGenerationSeq(harness.clock.nowMs() + 86_400_000))],
  ];
  test.each(IDS)("%s as for an unknown id, with equal status, body and headers", async (_what, of) => {
    for (const at of AT) {
      const none = await see("gen_00000000000000000000z", at, stranger.key);
      const seen = await see(of(), at, stranger.key);
      expect(seen).toEqual(none);
      expect(seen.asked).toEqual(["generationById"]);
    }
  });
});

test("answers the owner from memory without a store read", async () => {
  expect((await see(id, "", harness.tenant.key)).asked).toEqual([]);
});

test("returns 404 or 405 for another account's generation with any method, header or query parameter", async () => {
  const headers: Record<string, string>[] = [
    { "x-account-id": harness.tenant.accountId },
    { "x-forwarded-user": harness.tenant.accountId },
    { "x-original-url": `/v1/generations/${id}` },
    { "x-http-method-override": "GET" },
    { cookie: `key=${harness.tenant.key}` },
    { "x-api-key": harness.tenant.key },
    { "proxy-authorization": `Bearer ${harness.tenant.key}` },
  ];
  for (const more of headers)
    for (const at of AT) {
      const { status } = await harness.request("GET", `/v1/generations/${id}${at}`, { key: stranger.key, headers: more });
      expect(status).toBe(404);
    }
  for (const path of [
    `/v1/generations/${id}?account=${harness.tenant.accountId}`,
    `/v1/generations/${id}?key=${harness.tenant.key}`,
  ])
    expect((await harness.request("GET", path, { key: stranger.key })).status).toBe(404);
  expect((await harness.request("DELETE", `/v1/generations/${id}`, { key: stranger.key })).status).toBe(404);
  for (const method of ["PUT", "PATCH", "POST"])
    expect((await harness.request(method, `/v1/generations/${id}`, { key: stranger.key })).status).toBe(405);
});
