// fal adapter: outcomes of result responses by the error tables, and matches on the list of requests.
import { describe, expect, test } from "bun:test";
import type { FailureClass, Job, JsonObject } from "../../src/domain/types.ts";
import { FAL_BASE_URL, fal } from "../../src/providers/fal.ts";
import type { AdapterContext, ProviderResponse } from "../../src/providers/port.ts";
import { answer, FAL_OPTIONS, INPUT, SENT_AT_MS, taskFor } from "./task.ts";

const context = (filled = INPUT, options = FAL_OPTIONS): AdapterContext => {
  const { attempt } = taskFor();
  return { ref: attempt.ref, endpoint: attempt.route.endpoint, options, baseUrl: FAL_BASE_URL, input: { raw: filled, filled } };
};
const C = context();

const ID = "764cabcf-b745-4b3e-ae38-1200304cf45b";
const REQUEST = `https://queue.fal.run/bytedance/seedance-2.0/requests/${ID}`;
const JOB: Job = { jobId: ID, urls: { poll: `${REQUEST}/status`, result: REQUEST, cancel: `${REQUEST}/cancel` } };
const modelError = (type: string, msg = "words", loc = ["body", "prompt"]) => ({
  detail: [{ loc, msg, type, url: `https://docs.fal.ai/errors/#${type}`, input: {} }],
});

describe("the result response of fal", () => {
  const VIDEO = { url: "https://v3b.fal.media/files/x.mp4", content_type: "video/mp4", file_name: "x.mp4", file_size: 4352150 };
  const ANNOUNCED: [name: string, body: unknown, results: object[]][] = [
    ["a video", { video: VIDEO, seed: 1837261 }, [{ url: VIDEO.url, mime: "video/mp4" }]],
    [
      "several images in order",
      { images: [{ url: "https://a/1.png" }, { url: "https://a/2.png", content_type: null }], has_nsfw_concepts: [false, false] },
      [{ url: "https://a/1.png" }, { url: "https://a/2.png" }],
    ],
    [
      "one image",
      { image: { url: "https://a/1.png", content_type: "image/png" } },
      [{ url: "https://a/1.png", mime: "image/png" }],
    ],
    ["audio", { audio: { url: "https://a/1.mp3" } }, [{ url: "https://a/1.mp3" }]],
    ["audio as a plain URL", { audio_url: "https://a/1.mp3" }, [{ url: "https://a/1.mp3" }]],
  ];
  for (const [name, body, results] of ANNOUNCED)
    test(`announces ${name}`, () => {
      expect(fal.readResult?.(answer(200, body), JOB, C)).toEqual({ kind: "announced", results: results as never });
    });

  const FAILED: [status: number, type: string, failure: FailureClass][] = [
    [422, "content_policy_violation", "refused_input"],
    [422, "no_media_generated", "job_failed"],
    [422, "image_too_small", "invalid_for_route"],
    [422, "image_too_large", "invalid_for_route"],
    [422, "image_load_error", "input_unreachable"],
    [422, "file_download_error", "input_unreachable"],
    [422, "file_too_large", "invalid_for_route"],
    [422, "image_aspect_ratio_error", "invalid_for_route"],
    [422, "audio_duration_too_long", "invalid_for_route"],
    [422, "audio_duration_too_short", "invalid_for_route"],
    [422, "feature_not_supported", "invalid_for_route"],
    [422, "sequence_too_long", "invalid_for_route"],
    [422, "a_type_of_tomorrow", "invalid_for_route"],
    [504, "generation_timeout", "job_failed"],
    [500, "downstream_service_error", "job_failed"],
    [504, "downstream_service_unavailable", "job_failed"],
    [500, "internal_server_error", "job_failed"],
    [500, "a_type_of_tomorrow", "job_failed"],
  ];
  for (const [status, type, failure] of FAILED)
    test(`${status} ${type} of the model fails as ${failure}`, () => {
      expect(fal.readResult?.(answer(status, modelError(type)), JOB, C)).toMatchObject({
        kind: "failed",
        failure: { class: failure },
      });
    });

  const PLATFORM: [status: number, type: string, failure: FailureClass][] = [
    [504, "request_timeout", "job_failed"],
    [504, "startup_timeout", "job_failed"],
    [503, "runner_scheduling_failure", "overloaded"],
    [503, "runner_connection_timeout", "overloaded"],
    [503, "runner_disconnected", "overloaded"],
    [503, "runner_connection_refused", "overloaded"],
    [499, "client_cancelled", "job_failed"],
  ];
  for (const [status, type, failure] of PLATFORM)
    test(`${status} ${type} of the platform, in body or header, fails as ${failure}`, () => {
      const inBody = answer(status, { detail: "words", error_type: type });
      const inHeader = answer(status, "gone", { "x-fal-error-type": type });
      for (const r of [inBody, inHeader])
        expect(fal.readResult?.(r, JOB, C)).toMatchObject({ kind: "failed", failure: { class: failure } });
    });

  test("with several errors fails as refused_input if one of them is a refusal", () => {
    const detail = [
      ...modelError("missing").detail,
      ...modelError("image_too_small").detail,
      ...modelError("content_policy_violation").detail,
    ];
    expect(fal.readResult?.(answer(422, { detail }), JOB, C)).toMatchObject({ failure: { class: "refused_input" } });
  });

  const REST: [name: string, r: ProviderResponse, outcome: object][] = [
    ["400 before the end", answer(400, { detail: "Request is still in progress" }), { kind: "pending", seen: "IN_PROGRESS" }],
    ["200 without a file", answer(200, { seed: 1 }), { kind: "failed", failure: { class: "result_unreadable" } }],
    [
      "200 with an image that the safety filter flagged",
      answer(200, { images: [{ url: "https://a/black.jpg" }], has_nsfw_concepts: [true] }),
      { kind: "failed", failure: { class: "refused_output" } },
    ],
    [
      "200 with two images, one of them flagged",
      answer(200, { images: [{ url: "https://a/1.jpg" }, { url: "https://a/2.jpg" }], has_nsfw_concepts: [false, true] }),
      { kind: "failed", failure: { class: "refused_output" } },
    ],
    [
      "200 with a flag that is not a list",
      answer(200, { video: { url: "https://a/1.mp4" }, nsfw_content_detected: true }),
      { kind: "failed", failure: { class: "refused_output" } },
    ],
    [
      "422 without a file and with billed units",
      answer(422, modelError("no_media_generated"), { "x-fal-billable-units": "2.0" }),
      { kind: "failed", failure: { class: "job_failed", isBilled: true } },
    ],
    [
      "404 for an unknown path",
      answer(404, { detail: "Path /edit-video not found" }),
      { kind: "failed", failure: { class: "config_fault", detail: "404: Path /edit-video not found" } },
    ],
    [
      "404 for an unknown path in other case",
      answer(404, { detail: "path /v2/text-to-video Not Found", error_type: "" }),
      { kind: "failed", failure: { class: "config_fault" } },
    ],
    [
      "200 with an invalid URL",
      answer(200, { video: { url: "file:///etc/passwd" } }),
      { kind: "failed", failure: { class: "result_unreadable" } },
    ],
    ["200 with JSON that is not an object", answer(200, "[]"), { kind: "unclear" }],
    ["200 with HTML", answer(200, "<html>"), { kind: "unclear" }],
    ["404", answer(404, { detail: "not found" }), { kind: "gone" }],
    ["410", answer(410, {}), { kind: "failed", failure: { class: "result_expired" } }],
    ["401", answer(401, { detail: "key" }), { kind: "unclear" }],
    ["429", answer(429, {}, { "retry-after": "2" }), { kind: "unclear", retryAfterMs: 2000 }],
    ["502 of a gateway without a type", answer(502, "<html>"), { kind: "unclear" }],
    ["422 without a type", answer(422, { detail: "no" }), { kind: "failed", failure: { class: "invalid_for_route" } }],
  ];
  for (const [name, r, outcome] of REST)
    test(`${name} returns ${JSON.stringify(outcome)}`, () => {
      expect(fal.readResult?.(r, JOB, C)).toMatchObject(outcome);
    });
});

describe("the list of requests at fal", () => {
  const sent = fal.submit(C).body as JsonObject;
  const item = (jobId: string, json_input: unknown, sent_at: string | null = "2026-11-21T10:00:01Z") => ({
    request_id: jobId,
    endpoint_id: "bytedance/seedance-2.0/text-to-video",
    sent_at,
    ended_at: "2026-11-21T10:01:40Z",
    status_code: 200,
    json_input,
  });
  const withoutMarker = { ...FAL_OPTIONS, marker: undefined } as never;
  const unmarked = context(INPUT, JSON.parse(JSON.stringify(withoutMarker)));
  const sentUnmarked = fal.submit(unmarked).body as JsonObject;

  test("is requested from the list host with payloads, from two minutes before the submission", () => {
    const url = new URL(fal.find?.(C, SENT_AT_MS, null).url ?? "");
    expect(url.origin + url.pathname).toBe("https://api.fal.ai/v1/models/requests/by-endpoint");
    expect(Object.fromEntries(url.searchParams)).toEqual({
      endpoint_id: "bytedance/seedance-2.0/text-to-video",
      start: "2026-11-21T09:58:00.000Z",
      expand: "payloads",
      limit: "100",
    });
    expect(new URL(fal.find?.(C, SENT_AT_MS, "Mg==").url ?? "").searchParams.get("cursor")).toBe("Mg==");
  });

  test("is requested below a configured base URL", () => {
    const own = { ...C, baseUrl: "http://127.0.0.1:9000/fal" };
    expect(fal.find?.(own, SENT_AT_MS, null).url).toStartWith("http://127.0.0.1:9000/fal/v1/models/requests/by-endpoint?");
  });

  const ROWS: [name: string, c: AdapterContext, body: unknown, page: object][] = [
    [
      "is certain of a request with our reference",
      C,
      { items: [item("a", sent)] },
      { candidates: [{ match: "certain", job: { jobId: "a" } }], next: null },
    ],
    [
      "omits a request with another reference",
      C,
      { items: [item("a", { ...sent, end_user_id: "other-1" })] },
      { candidates: [] },
    ],
    ["omits a request without a reference", C, { items: [item("a", sentUnmarked)] }, { candidates: [] }],
    [
      "lists a request with erased input as possible",
      C,
      { items: [item("a", undefined), item("b", {})] },
      { candidates: [{ match: "possible" }, { match: "possible" }] },
    ],
    [
      "lists a request with the same input as equal if the route has no marker",
      unmarked,
      { items: [item("a", sentUnmarked)] },
      { candidates: [{ match: "equal" }] },
    ],
    [
      "compares inputs in any order of members",
      unmarked,
      { items: [item("a", Object.fromEntries(Object.entries(sentUnmarked ?? {}).reverse()))] },
      { candidates: [{ match: "equal" }] },
    ],
    [
      "lists a request with additional defaults as possible",
      unmarked,
      { items: [item("a", { ...sentUnmarked, bitrate_mode: "standard" })] },
      { candidates: [{ match: "possible" }] },
    ],
    [
      "omits a request with another prompt",
      unmarked,
      { items: [item("a", { ...sentUnmarked, prompt: "a hare" })] },
      { candidates: [] },
    ],
    [
      "omits a request from before the submission",
      unmarked,
      { items: [item("a", sentUnmarked, "2026-11-21T09:57:59Z")] },
      { candidates: [] },
    ],
    [
      "lists a request within the clock tolerance",
      unmarked,
      { items: [item("a", sentUnmarked, "2026-11-21T09:58:01Z")] },
      { candidates: [{ match: "equal" }] },
    ],
    [
      "returns the cursor of the next page",
      C,
      { items: [], has_more: true, next_cursor: "Mg==" },
      { candidates: [], next: "Mg==" },
    ],
    [
      "ignores the cursor of the last page",
      C,
      { items: [], has_more: false, next_cursor: "Mg==" },
      { candidates: [], next: null },
    ],
  ];
  for (const [name, c, body, page] of ROWS)
    test(name, () => {
      expect(fal.readFindPage?.(answer(200, body), c, SENT_AT_MS, null)).toMatchObject({ kind: "page", ...page });
    });

  const UNCLEAR: [name: string, r: ProviderResponse][] = [
    ["500", answer(500, "")],
    ["401", answer(401, { detail: "key" })],
    ["HTML", answer(200, "<html>")],
    ["a response without a list", answer(200, { data: [] })],
    ["an entry without an id", answer(200, { items: [{ json_input: {} }] })],
    ["has_more without a cursor", answer(200, { items: [], has_more: true, next_cursor: null })],
  ];
  for (const [name, r] of UNCLEAR)
    test(`is unclear for ${name}`, () => {
      expect(fal.readFindPage?.(r, C, SENT_AT_MS, null).kind).toBe("unclear");
    });
});
