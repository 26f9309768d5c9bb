// Provider port over real sockets: compose, submit, poll and cancel.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/domain/types.ts";
import { createProviders } from "../../src/providers/providers.ts";
import { KEY, never, open, ready } from "./open-providers.ts";
import { INPUT, taskFor } from "./task.ts";
import { answerOf, CLOSED_PORT, openHealthy, openWire } from "./wire.ts";

const nobodys = () => Promise.resolve(false);
type Route = (request: Request) => unknown;

describe("compose", () => {
  for (const provider of ["fal", "replicate"] as const)
    test(`for ${provider} is deterministic and contains no credential`, () => {
      const providers = open({ [provider]: "http://127.0.0.1:9" });
      const request = providers.compose(taskFor({ provider }));
      expect(providers.compose(taskFor({ provider }))).toBe(request);
      expect(request).not.toContain(KEY);
      expect(request.toLowerCase()).not.toContain("authorization");
      expect(JSON.parse(request)).toMatchObject({ method: "POST", body: expect.anything() });
    });
});

describe("submit", () => {
  test("sends the stored body byte for byte", async () => {
    using healthy = openHealthy({ "POST /bytedance/seedance-2.0": () => ({ request_id: `job-${healthy.seen.length}` }) });
    const { url, seen } = healthy;
    const providers = open({ fal: url });
    const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => value !== null) as fc.Arbitrary<JsonObject[string]>;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ minLength: 1, unit: "binary" }), json), async (input) => {
        const task = ready(providers, { options: {}, input, ref: `ref-${seen.length}` });
        expect((await providers.submit(task, never)).kind).toBe("accepted");
        const { body = "" } = seen.at(-1) ?? {};
        expect(body.isWellFormed()).toBe(true);
        expect(task.attempt.request).toEndWith(`"body":${body}}`);
      }),
      { seed: 20261121, numRuns: 60 },
    );
  });

  test("sends the stored request, even if the input has changed", async () => {
    using healthy = openHealthy({ "POST /bytedance/seedance-2.0/text-to-video": () => ({ request_id: "job-1" }) });
    const { url, seen } = healthy;
    const providers = open({ fal: url });
    const request = providers.compose(taskFor());
    await providers.submit(taskFor({ request, input: { ...INPUT, prompt: "a hare" }, options: {} }), never);
    expect(seen[0]?.body).toContain("a fox in snow");
  });

  test("throws for a request that was not stored or not composed here, and opens no connection", async () => {
    using wire = openWire({});
    const providers = open({ fal: wire.url });
    await expect(providers.submit(taskFor(), never)).rejects.toThrow("never written down");
    await expect(providers.submit(taskFor({ request: '{"method":"GET"}' }), never)).rejects.toThrow("composed here");
    expect(wire.connections()).toBe(0);
  });

  const OUTCOMES: [name: string, script: Parameters<typeof openWire>[0], outcome: object][] = [
    [
      "an acceptance",
      { asked: (s) => void s.write(answerOf(200, { request_id: "job-1" })) },
      { kind: "accepted", job: { jobId: "job-1" } },
    ],
    [
      "a 422",
      { asked: (s) => void s.write(answerOf(422, { detail: "no" })) },
      { kind: "rejected", failure: { class: "invalid_for_route" } },
    ],
    ["a redirect", { asked: (s) => void s.write(answerOf(307, "{}", { location: "/x" })) }, { kind: "ambiguous" }],
    ["a server error", { asked: (s) => void s.write(answerOf(500, {})) }, { kind: "ambiguous" }],
    ["HTML", { asked: (s) => void s.write(answerOf(200, "<html>")) }, { kind: "ambiguous" }],
    ["a cut 422", { asked: (s) => void s.end("HTTP/1.1 422 No\r\nContent-Length: 99\r\n\r\n{") }, { kind: "ambiguous" }],
    [
      "an acceptance over 1 MiB",
      { asked: (s) => void s.write(answerOf(200, `{"request_id":"a","x":"${"x".repeat(1_048_576)}"}`)) },
      { kind: "ambiguous" },
    ],
    ["a connection reset", { asked: (s) => s.terminate() }, { kind: "ambiguous", detail: "ECONNRESET" }],
    ["no response", {}, { kind: "ambiguous", detail: "no whole answer within 200 ms" }],
  ];
  for (const [name, script, outcome] of OUTCOMES)
    test(`returns ${JSON.stringify(outcome)} for ${name}, and sends one request`, async () => {
      using wire = openWire(script);
      const providers = open({ fal: wire.url }, { timeouts: { submitMs: 200 } });
      expect(await providers.submit(ready(providers, {}), never)).toMatchObject(outcome);
      expect(wire.requests.length).toBe(1);
    });

  test("returns not_sent for a refused connection", async () => {
    const providers = open({ fal: `http://127.0.0.1:${CLOSED_PORT}` });
    expect(await providers.submit(ready(providers, {}), never)).toEqual({
      kind: "rejected",
      failure: { class: "not_sent", detail: "ECONNREFUSED" },
    });
  });

  test("is ambiguous immediately when it is aborted while the provider has the request", async () => {
    using wire = openWire({});
    const providers = open({ fal: wire.url }, { timeouts: { submitMs: 60_000 } });
    const giver = new AbortController();
    const submitting = providers.submit(ready(providers, {}), giver.signal);
    await wire.arrived(1);
    giver.abort();
    expect((await submitting).kind).toBe("ambiguous");
  });

  test("is ambiguous if the job id belongs to another attempt", async () => {
    using healthy = openHealthy({ "POST /bytedance/seedance-2.0/text-to-video": () => ({ request_id: "job-1" }) });
    const { url } = healthy;
    const providers = open({ fal: url });
    expect((await providers.submit(ready(providers, { ref: "a-1" }), never)).kind).toBe("accepted");
    expect((await providers.submit(ready(providers, { ref: "b-1" }), never)).kind).toBe("ambiguous");
    expect((await providers.submit(ready(providers, { ref: "a-1" }), never)).kind).toBe("accepted");
  });
});

describe("poll", () => {
  const job = { jobId: "job-1" };
  const STATUS = "GET /bytedance/seedance-2.0/requests/job-1/status";
  const RESULT = "GET /bytedance/seedance-2.0/requests/job-1";
  const done = (more: object = {}) => ({ status: "COMPLETED", request_id: "job-1", ...more });
  const file = { video: { url: "https://v3b.fal.media/x.mp4" } };

  const ROWS: [name: string, answers: Record<string, Route>, outcome: object][] = [
    ["a running job", { [STATUS]: () => Response.json({ status: "IN_PROGRESS" }, { status: 202 }) }, { kind: "pending" }],
    [
      "a finished job with its result",
      { [STATUS]: () => done(), [RESULT]: () => file },
      { kind: "announced", results: [file.video] },
    ],
    [
      "a finished job that failed",
      { [STATUS]: () => done(), [RESULT]: () => Response.json({ detail: [{ type: "no_media_generated" }] }, { status: 422 }) },
      { kind: "failed", failure: { class: "job_failed" } },
    ],
    [
      "a status error that the result response confirms",
      { [STATUS]: () => done({ error: "worker died" }), [RESULT]: () => new Response("oops", { status: 500 }) },
      { kind: "failed", failure: { class: "job_failed", detail: "500: worker died" } },
    ],
    [
      "a status error that the result response does not confirm",
      { [STATUS]: () => done({ error: "worker died" }), [RESULT]: () => new Response("{}", { status: 429 }) },
      { kind: "unclear" },
    ],
    [
      "a gateway error in place of the result",
      { [STATUS]: () => done(), [RESULT]: () => new Response("", { status: 502 }) },
      { kind: "unclear" },
    ],
    ["a missing result", { [STATUS]: () => done() }, { kind: "gone" }],
    ["a missing job", {}, { kind: "gone" }],
  ];
  for (const [name, answers, outcome] of ROWS)
    test(`returns ${JSON.stringify(outcome)} for ${name}`, async () => {
      using healthy = openHealthy(answers);
      const { url } = healthy;
      expect(await open({ fal: url }).poll(taskFor({ job }), never)).toMatchObject(outcome);
    });

  test("is unclear for a broken and for a refused connection", async () => {
    using wire = openWire({ asked: (s) => s.terminate() });
    expect((await open({ fal: wire.url }).poll(taskFor({ job }), never)).kind).toBe("unclear");
    const closed = open({ fal: `http://127.0.0.1:${CLOSED_PORT}` });
    expect((await closed.poll(taskFor({ job }), never)).kind).toBe("unclear");
  });

  test("throws for an attempt without a job", async () => {
    await expect(open({ fal: "http://127.0.0.1:9" }).poll(taskFor(), never)).rejects.toThrow("no job");
  });
});

describe("cancel", () => {
  for (const [status, said] of [
    [202, true],
    [200, true],
    [400, false],
    [404, false],
    [500, false],
  ] as const)
    test(`returns ${said} for status ${status}`, async () => {
      const answer = () => Response.json({ status: "X" }, { status });
      using healthy = openHealthy({
        "PUT /bytedance/seedance-2.0/requests/job-1/cancel": answer,
        "POST /predictions/job-1/cancel": answer,
      });
      const { url } = healthy;
      const providers = open({ fal: url, replicate: url });
      for (const provider of ["fal", "replicate"] as const)
        expect(await providers.cancel(taskFor({ provider, job: { jobId: "job-1" } }), never)).toBe(said);
    });

  test("returns false for an attempt without a job", async () => {
    expect(await open({ fal: "http://127.0.0.1:9" }).cancel(taskFor(), never)).toBe(false);
  });
});

describe("a provider without full configuration", () => {
  test("counts as configured with a credential alone, but not with a base URL alone", () => {
    const providers = createProviders({
      settings: { fal: { key: KEY }, replicate: { base_url: "http://x.example" } },
      isOwned: nobodys,
    });
    expect(["fal", "replicate", "kling", "constructor"].map((id) => providers.configured(id))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(() => providers.traits("unknown")).toThrow("no provider unknown");
  });

  test("receives no request without a credential", async () => {
    using wire = openWire({});
    const providers = createProviders({ settings: { fal: { base_url: wire.url } }, isOwned: nobodys });
    const outcome = await providers.submit(ready(providers, {}), never);
    expect(outcome).toEqual({ kind: "rejected", failure: { class: "config_fault", detail: "no credential" } });
    expect(wire.connections()).toBe(0);
  });

  test("can have its traits overridden", () => {
    const providers = open({ fal: "http://127.0.0.1:9" }, { traits: { fal: { findSettleMs: 10 } } });
    expect(providers.traits("fal")).toMatchObject({ findSettleMs: 10, recovery: "list_marker" });
    expect(providers.traits("replicate")).toMatchObject({ findSettleMs: 120_000, recovery: "list_match" });
  });
});

test("find throws for an attempt that was never sent", async () => {
  const providers = open({ fal: "http://127.0.0.1:9" });
  await expect(providers.find(taskFor({ sentAtMs: null }), never)).rejects.toThrow("never sent");
});
