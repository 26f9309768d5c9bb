// Tests of connections that the runtime closes during a submission: no charge if the server notices it in time.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Presence } from "../../src/generations/submit.ts";
import { openHarness as openService, type Harness as Service } from "../harness.ts";
import { openHarness } from "./harness.ts";
import { talk } from "./raw.ts";

let service: Service;
beforeAll(async () => {
  service = await openService({ factor: 0 });
});
afterAll(() => service.close());

const post = (key: string, idempotencyKey: string, input = '{"prompt":"a hill"}') => {
  const body = `{"model":"sim-image-1","input":${input}}`;
  return `POST /v1/generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nIdempotency-Key: ${idempotencyKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const NEXT = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

// The runtime closes such connections itself. If a later version buffers the bytes, change these expectations.
const FOLLOWED: [what: string, tail: string, statuses: number[]][] = [
  ["a line break", "\r\n", [400]],
  ["a further request", NEXT, []],
];

describe("a submission that is followed, before its response, by", () => {
  test.each(FOLLOWED)("%s is not admitted and holds no credits, even if it is sent twice", async (what, tail, statuses) => {
    const { accountSeq, key, ...tenant } = await service.newTenant();
    for (let time = 0; time < 2; time++) {
      const said = await talk(service.url, [post(key, what) + tail]);
      expect([said.statuses, said.closed]).toEqual([statuses, true]);
    }
    // This submission is a fence: when it has its response, every mutation posted before it is committed.
    await service.request("POST", "/v1/generations", { body: { model: "sim-image-1", input: { prompt: "after" } } });
    expect(await service.store.generationByKey(accountSeq, what)).toBeUndefined();
    expect(await service.balance({ accountSeq, key, ...tenant })).toMatchObject({ held: 0, charged: 0, inProgress: 0 });
    // The same request without trailing bytes is the first one that is admitted.
    const right = await talk(service.url, [post(key, what), NEXT.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")]);
    expect(right.statuses).toEqual([202, 200]);
  });

  test.each(FOLLOWED)("%s receives its API error when it is rejected without a read of the store", async (_what, tail) => {
    const { key } = await service.newTenant();
    const error = await talk(service.url, [post(key, "other", '{"nonsense":1}') + tail], 300);
    expect(error.statuses[0]).toBe(422);
  });

  test.each(FOLLOWED)(
    "%s does not change the earlier generation of its key, and a well-formed replay returns that generation",
    async (what, tail) => {
      const { accountSeq, key, ...tenant } = await service.newTenant();
      const known = await talk(service.url, [post(key, what)], 300);
      expect(known.statuses[0]).toBe(202);
      const before = await service.balance({ accountSeq, key, ...tenant });
      await talk(service.url, [post(key, what) + tail], 300);
      const replay = await talk(service.url, [post(key, what)], 300);
      expect(replay.statuses[0]).toBe(200);
      const made = await service.store.generationByKey(accountSeq, what);
      expect(replay.text).toContain(`"id":"${made?.record.id}"`);
      expect(known.text).toContain(`"id":"${made?.record.id}"`);
      expect(await service.balance({ accountSeq, key, ...tenant })).toEqual(before);
    },
  );
});

test("returns the outcome to a client that half-closed its connection and sends the same idempotency key again", async () => {
  const { key, accountSeq } = await service.newTenant();
  await talk(service.url, [post(key, "half")], 20_000, true);
  const again = await service.request("POST", "/v1/generations", {
    key,
    headers: { "idempotency-key": "half" },
    body: { model: "sim-image-1", input: { prompt: "a hill" } },
  });
  // 202 if the server noticed the close before admission, 200 if the generation already existed.
  expect([200, 202]).toContain(again.status);
  const made = await service.store.generationByKey(accountSeq, "half");
  expect(made?.record.id).toBe(String(again.body.id));
});

/** The check that a submission makes right before its admission. */
const isGone = async (presence: Presence | undefined): Promise<boolean | undefined> => {
  await presence?.heard();
  return presence?.isGone();
};

describe("the presence check right before admission", () => {
  test("reports that the client is gone when the connection closed during the check of its media", async () => {
    await using harness = await openHarness();
    const ended = Promise.withResolvers<void>();
    const reported = Promise.withResolvers<boolean | undefined>();
    harness.onSubmit(async (_order, presence) => {
      await ended.promise;
      reported.resolve(await isGone(presence));
      return { record: harness.addRecord(), replayed: false };
    });
    const said = await talk(harness.url, [post(harness.key, "slow")], 20_000, true);
    expect([said.statuses, said.closed]).toEqual([[], true]);
    ended.resolve();
    expect(await reported.promise).toBe(true);
  });

  test("reports that the client is present when it waits for its response", async () => {
    await using harness = await openHarness();
    const reported: (boolean | undefined)[] = [];
    harness.onSubmit(async (_order, presence) => {
      reported.push(await isGone(presence));
      return { record: harness.addRecord(), replayed: false };
    });
    expect((await harness.submit('{"model":"sim-image-1","input":{}}')).status).toBe(202);
    expect(reported).toEqual([false]);
  });
});
