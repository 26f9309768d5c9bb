// Lost submission to a provider with idempotency keys: the resent request and its outcomes.
import { describe, expect, test } from "bun:test";
import { createProviders } from "../../src/providers/providers.ts";
import { KEY, never } from "./open-providers.ts";
import { SENT_AT_MS, taskFor } from "./task.ts";
import { answerOf, openWire } from "./wire.ts";

const HOUR_MS = 3_600_000;
const ROUTES = {
  higgsfield: { provider: "higgsfield", endpoint: "bytedance/seedance-2.0/text-to-video", options: {} },
  pixverse: { provider: "pixverse", endpoint: "video/text/generate", options: { values: { model: "v6" } } },
};

/** Looks up a submission that was sent `agoMs` ago. */
const find = async (provider: keyof typeof ROUTES, answer: string, agoMs: number) => {
  using wire = openWire({ asked: (socket) => void socket.write(answer) });
  const providers = createProviders({
    settings: { [provider]: { base_url: wire.url, key: KEY } },
    isOwned: () => Promise.resolve(false),
    nowMs: () => SENT_AT_MS + agoMs,
    timeouts: { submitMs: 2_000, findMs: 2_000 },
  });
  const request = providers.compose(taskFor(ROUTES[provider]));
  const outcome = await providers.find(taskFor({ ...ROUTES[provider], request }), never);
  return { kind: outcome.kind, requests: wire.requests };
};

describe("the lookup is unclear if the resent request is refused with", () => {
  const refusals: [provider: keyof typeof ROUTES, status: number, body: object][] = [
    ["higgsfield", 422, { detail: "This Idempotency-Key was used with another body" }],
    ["higgsfield", 422, { detail: [{ type: "url", loc: ["body", "image_url"], msg: "the file could not be fetched" }] }],
    ["higgsfield", 400, { detail: "blocked by policy" }],
    ["higgsfield", 401, { detail: "Invalid credentials" }],
    ["higgsfield", 409, { detail: "under way" }],
    ["higgsfield", 429, { detail: "Too many requests" }],
    ["pixverse", 200, { ErrCode: 400_017, ErrMsg: "invalid param: Ai-trace-id", Resp: null }],
    ["pixverse", 200, { ErrCode: 500_063, ErrMsg: "The input text is not compliant", Resp: null }],
    ["pixverse", 200, { ErrCode: 500_090, ErrMsg: "Insufficient balance", Resp: null }],
  ];
  for (const [provider, status, body] of refusals)
    test(`${provider}: ${status} ${JSON.stringify(body)}`, async () => {
      expect((await find(provider, answerOf(status, body), 1_000)).kind).toBe("unclear");
    });
});

describe("the lookup resends the request", () => {
  const found = answerOf(200, { ErrCode: 0, ErrMsg: "success", Resp: { video_id: 7 } });
  test("while the provider remembers the key", async () => {
    const { kind, requests } = await find("pixverse", found, HOUR_MS - 1);
    expect([kind, requests.length]).toEqual(["found", 1]);
  });
  test("but not after the provider may have forgotten the key, because that would start another job", async () => {
    const { kind, requests } = await find("pixverse", found, HOUR_MS);
    expect([kind, requests.length]).toEqual(["unclear", 0]);
  });
});
