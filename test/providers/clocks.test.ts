// Lookup with clock skew: if the provider's clock differs much from ours, only our reference on a job is proof.
import { expect, test } from "bun:test";
import type { FindOutcome } from "../../src/providers/port.ts";
import { createProviders } from "../../src/providers/providers.ts";
import { SENT_AT_MS, taskFor } from "./task.ts";
import { answerOf, openWire } from "./wire.ts";

const MINUTE_MS = 60_000;
const INPUT = { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", generate_audio: false };
const unclear = { kind: "unclear", detail: "the clocks are too far apart" } as const;

/** Looks up a lost attempt on a list whose response has the provider's time. */
const find = async (provider: "fal" | "replicate", list: object, providerMs: number | null): Promise<FindOutcome> => {
  const headers = providerMs === null ? {} : { date: new Date(providerMs).toUTCString() };
  using wire = openWire({ asked: (socket) => void socket.write(answerOf(200, list, headers as Record<string, string>)) });
  const settings = { [provider]: { base_url: wire.url, key: "s3cr3t-0123456789" } };
  const providers = createProviders({ settings, isOwned: async () => false, nowMs: () => SENT_AT_MS + MINUTE_MS });
  return await providers.find(taskFor({ provider, ref: "a-1" }), new AbortController().signal);
};
const NOTHING = { results: [], next: null };
const OURS_BY_INPUT = {
  results: [{ id: "a", input: INPUT, created_at: "2026-11-21T10:00:01Z", status: "starting" }],
  next: null,
};
const OURS_BY_MARK = {
  items: [{ request_id: "a", json_input: { prompt: "p", end_user_id: "a-1" }, sent_at: null }],
  has_more: false,
};

for (const [apart, providerMs] of [
  ["ten minutes behind ours", SENT_AT_MS - 9 * MINUTE_MS],
  ["ten minutes ahead of ours", SENT_AT_MS + 11 * MINUTE_MS],
] as const) {
  test(`an empty list with a clock ${apart} is unclear`, async () => {
    expect(await find("replicate", NOTHING, providerMs)).toEqual(unclear);
  });
  test(`a job with the same input on a list with a clock ${apart} is unclear`, async () => {
    expect(await find("replicate", OURS_BY_INPUT, providerMs)).toEqual(unclear);
  });
  test(`a job with our reference is found on a list with a clock ${apart}`, async () => {
    expect(await find("fal", OURS_BY_MARK, providerMs)).toMatchObject({ kind: "found", job: { jobId: "a" } });
  });
}

test("a list with the same clock or without a date header proves absence and matches", async () => {
  expect(await find("replicate", NOTHING, SENT_AT_MS + MINUTE_MS)).toEqual({ kind: "absent" });
  expect(await find("replicate", NOTHING, null)).toEqual({ kind: "absent" });
  expect(await find("replicate", OURS_BY_INPUT, SENT_AT_MS + MINUTE_MS)).toMatchObject({ kind: "found" });
});

test("the lookup covers one hour on both sides for an attempt that an earlier process sent", async () => {
  const asked: URLSearchParams[] = [];
  const hourBefore = { ...OURS_BY_INPUT, results: [{ ...OURS_BY_INPUT.results[0], created_at: "2026-11-21T09:20:00Z" }] };
  using wire = openWire({
    asked: (socket, request) => {
      asked.push(new URL(request.split(" ")[1] ?? "", "http://provider.test").searchParams);
      socket.write(answerOf(200, hourBefore));
    },
  });
  const settings = { replicate: { base_url: wire.url, key: "s3cr3t-0123456789" } };
  let nowMs = SENT_AT_MS + MINUTE_MS;
  const lost = () => taskFor({ provider: "replicate", ref: "a-1" });
  const isOwned = async () => false;
  const next = createProviders({ settings, isOwned, nowMs: () => nowMs });
  expect(await next.find(lost(), new AbortController().signal)).toMatchObject({ kind: "found" });
  expect(Date.parse(asked[0]?.get("created_after") ?? "")).toBeLessThanOrEqual(SENT_AT_MS - 60 * MINUTE_MS);
  expect(Date.parse(asked[0]?.get("created_before") ?? "")).toBeGreaterThanOrEqual(SENT_AT_MS + 60 * MINUTE_MS);

  nowMs = SENT_AT_MS - MINUTE_MS;
  const same = createProviders({ settings, isOwned, nowMs: () => nowMs });
  nowMs = SENT_AT_MS + MINUTE_MS;
  expect(await same.find(lost(), new AbortController().signal)).toEqual({ kind: "absent" });
});
