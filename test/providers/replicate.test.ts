// Replicate adapter: outcomes of documented responses, one row for each status and error.
import { describe, expect, test } from "bun:test";
import type { FailureClass } from "../../src/domain/types.ts";
import type { AdapterContext, ProviderResponse } from "../../src/providers/port.ts";
import { REPLICATE_BASE_URL, replicate } from "../../src/providers/replicate.ts";
import { answer, INPUT, REPLICATE_OPTIONS, SENT_AT_MS, taskFor } from "./task.ts";

const { attempt } = taskFor({ provider: "replicate" });
const C: AdapterContext = {
  ref: attempt.ref,
  endpoint: attempt.route.endpoint,
  options: REPLICATE_OPTIONS,
  baseUrl: REPLICATE_BASE_URL,
  input: { raw: INPUT, filled: INPUT },
};

const ID = "gm3qorzdhgbfurvjtvhg6dckhu";
const JOB = { jobId: ID };
const SENT = { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", generate_audio: false };
const prediction = (more: object) => ({
  id: ID,
  model: "bytedance/seedance-2.0",
  version: "hidden",
  input: SENT,
  output: null,
  error: null,
  status: "starting",
  source: "api",
  data_removed: false,
  created_at: "2026-11-21T10:00:00.000Z",
  urls: {
    get: `https://api.replicate.com/v1/predictions/${ID}`,
    cancel: `https://api.replicate.com/v1/predictions/${ID}/cancel`,
  },
  ...more,
});

describe("a submission to Replicate", () => {
  test("is a POST to the model with the input in the body and a cancel-after deadline", () => {
    expect(replicate.submit(C)).toEqual({
      method: "POST",
      url: "https://api.replicate.com/v1/models/bytedance/seedance-2.0/predictions",
      headers: { "content-type": "application/json", "cancel-after": "40m" },
      body: { input: SENT },
    });
  });

  test("runs a version if the endpoint names it", () => {
    const c = { ...C, endpoint: "owner/name:5c7d5dc6" };
    expect(replicate.submit(c)).toMatchObject({
      url: "https://api.replicate.com/v1/predictions",
      body: { version: "5c7d5dc6", input: SENT },
    });
  });

  test("is accepted with 201 and an id", () => {
    expect(replicate.readSubmit(answer(201, prediction({})), C)).toEqual({ kind: "accepted", job: JOB });
  });

  const problem = (status: number, detail: string) => ({ title: "Title", detail, status });
  const REJECTED: [r: ProviderResponse, failure: FailureClass, retryAfterMs?: number][] = [
    [answer(400, problem(400, "bad")), "invalid_for_route"],
    [answer(401, problem(401, "You did not pass a valid authentication token")), "config_fault"],
    [answer(402, problem(402, "You have insufficient credit to run this model.")), "balance"],
    [answer(403, problem(403, "no")), "config_fault"],
    [answer(404, problem(404, "The requested resource could not be found.")), "config_fault"],
    [answer(422, problem(422, "- input.duration: must be one of 5, 10")), "invalid_for_route"],
    [answer(422, problem(422, "The input was flagged as sensitive (E005)")), "refused_input"],
    [answer(429, problem(429, "Request was throttled. Your rate limit resets in ~30s.")), "rate_limited", 30_000],
    [
      answer(429, problem(429, "Request was throttled. Your rate limit resets in ~30s."), { "retry-after": "12" }),
      "rate_limited",
      12_000,
    ],
    [
      answer(429, problem(429, "later"), {
        "retry-after": "Sat, 21 Nov 2026 10:00:09 GMT",
        date: "Sat, 21 Nov 2026 10:00:00 GMT",
      }),
      "rate_limited",
      9_000,
    ],
    [answer(429, problem(429, "much later"), { "retry-after": "999999999" }), "rate_limited", 3_600_000],
    [answer(429, problem(429, "nonsense"), { "retry-after": "soon" }), "rate_limited"],
  ];
  for (const [r, failure, retryAfterMs] of REJECTED)
    test(`with response ${r.text} ${JSON.stringify(r.headers)} is rejected as ${failure}`, () => {
      const outcome = replicate.readSubmit(r, C);
      expect(outcome).toMatchObject({ kind: "rejected", failure: { class: failure } });
      if (outcome.kind === "rejected") expect(outcome.failure.retryAfterMs).toBe(retryAfterMs);
    });

  const AMBIGUOUS: [name: string, r: ProviderResponse][] = [
    ["500", answer(500, problem(500, "Internal server error"))],
    ["502", answer(502, "<html>")],
    ["503", answer(503, "")],
    ["504", answer(504, "")],
    ["408", answer(408, "")],
    ["409", answer(409, "{}")],
    ["303", answer(303, "")],
    ["201 with an empty body", answer(201, "")],
    ["201 without an id", answer(201, prediction({ id: undefined }))],
    ["201 with an id that is a path", answer(201, prediction({ id: "a/../b?c" }))],
  ];
  for (const [name, r] of AMBIGUOUS)
    test(`with response ${name} is ambiguous`, () => {
      expect(replicate.readSubmit(r, C).kind).toBe("ambiguous");
    });
});

describe("the poll of a Replicate prediction", () => {
  test("and its cancellation use the id", () => {
    expect(replicate.poll(JOB, C)).toMatchObject({ method: "GET", url: `https://api.replicate.com/v1/predictions/${ID}` });
    expect(replicate.cancel?.(JOB, C)).toMatchObject({
      method: "POST",
      url: `https://api.replicate.com/v1/predictions/${ID}/cancel`,
    });
  });

  const FILE = "https://replicate.delivery/xezq/out.mp4";
  const failed = (failure: FailureClass) => ({ kind: "failed", failure: { class: failure } });
  const ROWS: [name: string, r: ProviderResponse, outcome: object][] = [
    ["starting", answer(200, prediction({})), { kind: "pending", seen: "starting" }],
    ["processing", answer(200, prediction({ status: "processing" })), { kind: "pending", seen: "processing" }],
    [
      "succeeded with a URL, which expires one hour after the end",
      answer(200, prediction({ status: "succeeded", output: FILE, completed_at: "2026-11-21T10:01:32.000Z" })),
      { kind: "announced", results: [{ url: FILE, expiresAtMs: Date.parse("2026-11-21T11:01:32.000Z") }] },
    ],
    [
      "succeeded with a list",
      answer(200, prediction({ status: "succeeded", output: [FILE, `${FILE}2`] })),
      { kind: "announced", results: [{ url: FILE }, { url: `${FILE}2` }] },
    ],
    [
      "succeeded with an object",
      answer(200, prediction({ status: "succeeded", output: { video: FILE, seed: 1 } })),
      { kind: "announced", results: [{ url: FILE }] },
    ],
    [
      "succeeded with removed output",
      answer(200, prediction({ status: "succeeded", data_removed: true })),
      failed("result_expired"),
    ],
    ["succeeded without a file", answer(200, prediction({ status: "succeeded", output: "hello" })), failed("result_unreadable")],
    [
      "succeeded with deeply nested output",
      answer(200, prediction({ status: "succeeded", output: [[{ a: [FILE] }]] })),
      failed("result_unreadable"),
    ],
    ["failed", answer(200, prediction({ status: "failed", error: "CUDA out of memory" })), failed("job_failed")],
    ["failed without an error text", answer(200, prediction({ status: "failed" })), failed("job_failed")],
    [
      "failed with a text about refused input",
      answer(
        200,
        prediction({
          status: "failed",
          error: "The input or output was flagged as sensitive. Please try again with different inputs. (E005) (xxxx)",
        }),
      ),
      failed("refused_input"),
    ],
    [
      "failed with a text about refused output",
      answer(200, prediction({ status: "failed", error: "NSFW content detected. Try running it again." })),
      failed("refused_output"),
    ],
    [
      "failed with a text about an unreachable input",
      answer(200, prediction({ status: "failed", error: "Failed to download the input file: 404 Client Error" })),
      failed("input_unreachable"),
    ],
    ["canceled", answer(200, prediction({ status: "canceled" })), failed("job_failed")],
    ["aborted", answer(200, prediction({ status: "aborted" })), failed("job_failed")],
    [
      "an unknown status",
      answer(200, prediction({ status: "paused" })),
      { kind: "unclear", detail: "200: unknown status paused" },
    ],
    ["a response for another prediction", answer(200, prediction({ id: "other" })), { kind: "unclear" }],
    ["HTML", answer(200, "<html>"), { kind: "unclear" }],
    ["404", answer(404, {}), { kind: "gone" }],
    ["401", answer(401, {}), { kind: "unclear" }],
    ["429", answer(429, {}, { "retry-after": "4" }), { kind: "unclear", retryAfterMs: 4000 }],
    ["500", answer(500, ""), { kind: "unclear" }],
  ];
  for (const [name, r, outcome] of ROWS)
    test(`with ${name} returns ${JSON.stringify(outcome)}`, () => {
      expect(replicate.readPoll(r, JOB, C)).toMatchObject(outcome);
    });
});

describe("the list of predictions at Replicate", () => {
  test("is requested for the time around the submission", () => {
    const url = new URL(replicate.find?.(C, SENT_AT_MS, null).url ?? "");
    expect(url.origin + url.pathname).toBe("https://api.replicate.com/v1/predictions");
    expect(Object.fromEntries(url.searchParams)).toEqual({
      created_after: "2026-11-21T09:58:00.000Z",
      created_before: "2026-11-21T10:10:00.000Z",
    });
    expect(replicate.find?.(C, SENT_AT_MS, "https://api.replicate.com/v1/predictions?cursor=x").url).toEndWith("?cursor=x");
  });

  const at = (time: string) => ({ created_at: `2026-11-21T${time}Z` });
  const next = "https://api.replicate.com/v1/predictions?cursor=x";
  const ROWS: [name: string, body: object, page: object][] = [
    [
      "lists a prediction with the same input as equal",
      { results: [prediction({})], next: null },
      { candidates: [{ match: "equal", job: JOB }], next: null },
    ],
    [
      "omits a prediction of another model with another input",
      { results: [prediction({ model: "bytedance/seedance-2.5", input: { ...SENT, prompt: "a hare" } })] },
      { candidates: [] },
    ],
    [
      "lists a prediction of another model name with the same input as possible",
      { results: [prediction({ model: "replicate/seedance-2.0" })] },
      { candidates: [{ match: "possible", job: JOB }] },
    ],
    [
      "omits a prediction of another model with erased input",
      { results: [prediction({ model: "bytedance/seedance-2.5", input: {}, data_removed: true })] },
      { candidates: [] },
    ],
    [
      "omits a prediction with another input",
      { results: [prediction({ input: { ...SENT, prompt: "a hare" } })] },
      { candidates: [] },
    ],
    [
      "lists a prediction with erased input as possible",
      { results: [prediction({ input: {}, data_removed: true })] },
      { candidates: [{ match: "possible" }] },
    ],
    ["omits a prediction from before the submission", { results: [prediction(at("09:57:00"))] }, { candidates: [] }],
    ["omits a prediction from long after the submission", { results: [prediction(at("10:11:00"))] }, { candidates: [] }],
    ["lists a prediction without a time", { results: [prediction({ created_at: null })] }, { candidates: [{ match: "equal" }] }],
    [
      "returns the next page while the predictions are newer than the submission",
      { results: [prediction(at("10:03:00"))], next },
      { next },
    ],
    [
      "returns no next page once a prediction is older than the submission",
      { results: [prediction({}), prediction(at("09:50:00"))], next },
      { next: null },
    ],
  ];
  for (const [name, body, page] of ROWS)
    test(name, () => {
      expect(replicate.readFindPage?.(answer(200, body), C, SENT_AT_MS, null)).toMatchObject({ kind: "page", ...page });
    });

  for (const [name, r] of [
    ["500", answer(500, "")],
    ["HTML", answer(200, "<html>")],
    ["a response without results", answer(200, { next: null })],
    ["an invalid next URL", answer(200, { results: [], next: "javascript:alert(1)" })],
  ] as const)
    test(`is unclear for ${name}`, () => {
      expect(replicate.readFindPage?.(r, C, SENT_AT_MS, null).kind).toBe("unclear");
    });
});
