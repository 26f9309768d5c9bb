// fal adapter: outcomes of documented responses to submissions and polls, one row for each line of the error tables.
import { describe, expect, test } from "bun:test";
import type { FailureClass, Job } from "../../src/domain/types.ts";
import { FAL_BASE_URL, fal } from "../../src/providers/fal.ts";
import type { AdapterContext, ProviderResponse } from "../../src/providers/port.ts";
import { answer, FAL_OPTIONS, INPUT, taskFor } from "./task.ts";

const context = (filled = INPUT, options = FAL_OPTIONS): AdapterContext => {
  const { attempt } = taskFor();
  return { ref: attempt.ref, endpoint: attempt.route.endpoint, options, baseUrl: FAL_BASE_URL, input: { raw: filled, filled } };
};
const C = context();

const ID = "764cabcf-b745-4b3e-ae38-1200304cf45b";
/** The URLs lack the sub-path after the app. */
const REQUEST = `https://queue.fal.run/bytedance/seedance-2.0/requests/${ID}`;
const ACCEPTED = {
  status: "IN_QUEUE",
  request_id: ID,
  queue_position: 0,
  response_url: REQUEST,
  status_url: `${REQUEST}/status`,
  cancel_url: `${REQUEST}/cancel`,
};
const JOB: Job = { jobId: ID, urls: { poll: `${REQUEST}/status`, result: REQUEST, cancel: `${REQUEST}/cancel` } };
const modelError = (type: string, msg = "words", loc = ["body", "prompt"]) => ({
  detail: [{ loc, msg, type, url: `https://docs.fal.ai/errors/#${type}`, input: {} }],
});

describe("a submission to fal", () => {
  test("is a POST to the endpoint of its mode with the input as body and without retries at fal", () => {
    expect(fal.submit(C)).toEqual({
      method: "POST",
      url: "https://queue.fal.run/bytedance/seedance-2.0/text-to-video",
      headers: { "content-type": "application/json", "x-fal-no-retry": "1", "x-fal-request-timeout": "900" },
      body: {
        prompt: "a fox in snow",
        resolution: "720p",
        duration: "5",
        aspect_ratio: "16:9",
        generate_audio: false,
        end_user_id: "0k3v9x2m-1",
      },
    });
  });

  test("is accepted with the URLs that fal returns", () => {
    expect(fal.readSubmit(answer(200, ACCEPTED), C)).toEqual({ kind: "accepted", job: JOB });
  });

  const REJECTED: [name: string, r: ProviderResponse, failure: FailureClass, retryAfterMs?: number][] = [
    ["400", answer(400, { detail: "bad" }), "invalid_for_route"],
    ["401", answer(401, { detail: "Invalid key" }), "config_fault"],
    ["402", answer(402, { detail: "no credit" }), "balance"],
    ["403", answer(403, { detail: "forbidden" }), "config_fault"],
    ["403 for an empty balance", answer(403, { detail: "User is locked. Reason: Exhausted balance." }), "balance"],
    ["404 for an unknown app", answer(404, { detail: "Application not found" }), "config_fault"],
    ["413", answer(413, "too large"), "invalid_for_route"],
    ["422 of schema validation", answer(422, modelError("missing")), "invalid_for_route"],
    ["422 content_policy_violation", answer(422, modelError("content_policy_violation")), "refused_input"],
    ["429", answer(429, { detail: "slow down" }, { "retry-after": "7" }), "rate_limited", 7000],
    ["429 without retry-after", answer(429, "{}"), "rate_limited"],
  ];
  for (const [name, r, failure, retryAfterMs] of REJECTED)
    test(`with response ${name} is rejected as ${failure}`, () => {
      const outcome = fal.readSubmit(r, C);
      expect(outcome).toMatchObject({ kind: "rejected", failure: { class: failure } });
      if (outcome.kind === "rejected") expect(outcome.failure.retryAfterMs).toBe(retryAfterMs);
    });

  const AMBIGUOUS: [name: string, r: ProviderResponse][] = [
    ["500", answer(500, { detail: "oops" })],
    ["502 of a gateway", answer(502, "<html>Bad Gateway</html>")],
    ["503", answer(503, { detail: "busy", error_type: "runner_scheduling_failure" })],
    ["504", answer(504, { detail: "late", error_type: "request_timeout" })],
    ["500 with content_policy_violation", answer(500, modelError("content_policy_violation"))],
    ["408", answer(408, "")],
    ["409", answer(409, {})],
    ["418, which is undocumented", answer(418, {})],
    ["307", answer(307, "", { location: "https://elsewhere.example/" })],
    ["200 with an empty body", answer(200, "")],
    ["200 with HTML", answer(200, "<html>hello</html>")],
    ["200 without an id", answer(200, { status: "IN_QUEUE" })],
    ["200 with an id that is a path", answer(200, { ...ACCEPTED, request_id: "../../admin" })],
    ["200 with an id that is a number", answer(200, { ...ACCEPTED, request_id: 7 })],
    ["200 with JSON nested over 64 levels", answer(200, `{"request_id":"a","x":${"[".repeat(90)}${"]".repeat(90)}}`)],
  ];
  for (const [name, r] of AMBIGUOUS)
    test(`with response ${name} is ambiguous`, () => {
      expect(fal.readSubmit(r, C).kind).toBe("ambiguous");
    });
});

describe("the status request to fal", () => {
  test("goes to the URL that fal returned, without logs", () => {
    expect(fal.poll(JOB, C).url).toBe(`${REQUEST}/status?logs=0`);
    expect(fal.poll({ jobId: ID, urls: { poll: `${REQUEST}/status?x=1` } }, C).url).toBe(`${REQUEST}/status?x=1&logs=0`);
  });

  test("for a job found on the list goes to owner and app, without the sub-path", () => {
    const deep = { ...C, endpoint: "bytedance/seedance-2.0/reference-to-video" };
    expect(fal.poll({ jobId: ID }, deep).url).toBe(`${REQUEST}/status?logs=0`);
    expect(fal.result?.({ jobId: ID }, deep).url).toBe(REQUEST);
    expect(fal.cancel?.({ jobId: ID }, deep)).toMatchObject({ method: "PUT", url: `${REQUEST}/cancel` });
  });

  const ROWS: [name: string, r: ProviderResponse, outcome: object][] = [
    [
      "202 IN_QUEUE",
      answer(202, { status: "IN_QUEUE", request_id: ID, queue_position: 3 }),
      { kind: "pending", seen: "IN_QUEUE" },
    ],
    [
      "202 IN_PROGRESS",
      answer(202, { status: "IN_PROGRESS", request_id: ID, logs: [] }),
      { kind: "pending", seen: "IN_PROGRESS" },
    ],
    [
      "200 COMPLETED",
      answer(200, { status: "COMPLETED", request_id: ID, metrics: { inference_time: 93.1 } }),
      { kind: "ask-result" },
    ],
    [
      "200 COMPLETED with an error",
      answer(200, { status: "COMPLETED", request_id: ID, error: "boom" }),
      { kind: "ask-result", error: "boom" },
    ],
    [
      "200 COMPLETED with an error type",
      answer(200, { status: "COMPLETED", error: "slow", error_type: "request_timeout" }),
      { kind: "ask-result", error: "request_timeout" },
    ],
    ["200 with an unknown status", answer(200, { status: "PAUSED" }), { kind: "unclear", detail: "200: unknown status PAUSED" }],
    ["200 for another request", answer(200, { status: "COMPLETED", request_id: "other" }), { kind: "unclear" }],
    ["200 with HTML", answer(200, "<html>"), { kind: "unclear" }],
    ["404", answer(404, { detail: "not found" }), { kind: "gone" }],
    ["401", answer(401, { detail: "key" }), { kind: "unclear" }],
    ["429", answer(429, {}, { "retry-after": "3" }), { kind: "unclear", retryAfterMs: 3000 }],
    ["500", answer(500, "oops"), { kind: "unclear" }],
    ["503", answer(503, { detail: "x", error_type: "runner_disconnected" }), { kind: "unclear" }],
    ["302", answer(302, ""), { kind: "unclear" }],
  ];
  for (const [name, r, outcome] of ROWS)
    test(`with response ${name} returns ${JSON.stringify(outcome)}`, () => {
      expect(fal.readPoll(r, JOB, C)).toMatchObject(outcome);
    });
});
