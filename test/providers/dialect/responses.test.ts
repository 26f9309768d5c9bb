// Responses read by dialect files: pointers, failure rules, job states and the forms of result files.
import { describe, expect, test } from "bun:test";
import { judgeOf } from "../../../src/providers/dialect/error-rules.ts";
import { DialectError } from "../../../src/providers/dialect/placeholders.ts";
import { seekOf } from "../../../src/providers/dialect/pointers.ts";
import { readAnswerOf } from "../../../src/providers/dialect/responses.ts";
import type { AnswerTemplate } from "../../../src/providers/dialect/schema.ts";
import type { ProviderResponse } from "../../../src/providers/port.ts";
import { answer } from "../task.ts";

const NONE: ProviderResponse = { status: 200, headers: { "retry-after": "3" }, json: undefined, text: "down" };
const TREE = answer(200, {
  data: {
    id: 7,
    list: [
      { type: "text", uri: "a" },
      { type: "video", uri: "b" },
      { type: "video", uri: "c" },
    ],
  },
  "a/b": { "~c": true },
  nothing: null,
});

describe("a pointer", () => {
  const CASES: [pointer: string | string[], found: unknown[]][] = [
    ["/data/id", [7]],
    ["/data/list/0/uri", ["a"]],
    ["/data/list/*/uri", ["a", "b", "c"]],
    ["/data/list/*[type=video]/uri", ["b", "c"]],
    ["/data/list/*[type=sound]/uri", []],
    ["/a~1b/~0c", [true]],
    ["/nothing", []],
    ["/data/constructor", []],
    ["/data/list/length", []],
    [["/data/none", "/data/id"], [7]],
    ["@status", [200]],
  ];
  for (const [pointer, found] of CASES)
    test(`${pointer} finds ${JSON.stringify(found)}`, () => expect(seekOf(pointer)(TREE)).toEqual(found));
  test("reads headers and text", () => {
    expect(seekOf("@header/Retry-After")(NONE)).toEqual(["3"]);
    expect(seekOf("@text")(NONE)).toEqual(["down"]);
    expect(seekOf("")(NONE)).toEqual([]);
  });
  for (const wrong of ["data", "/a//b", "/a[b", "@body"])
    test(`${wrong} is rejected`, () => expect(() => seekOf(wrong)).toThrow(DialectError));
});

const JUDGE = judgeOf(
  [
    { at: "/error/code", matches: "^output.*sensitive", class: "refused_output" },
    { at: "/error/code", is: ["Sensitive", 1301], class: "refused_input" },
    { http: [429], at: "/error/code", is: ["quota"], class: "balance" },
    { at: "/error/code", is: ["gone"], while: "asking", class: "gone" },
    { at: "/error/code", is: ["gone"], while: "submitting", class: "config_fault" },
    { http: [503], class: "overloaded" },
    { at: "/error/busy", class: "rate_limited" },
  ],
  ["/error/code", "/error/message"],
);
const error = (code: unknown, status = 400) => answer(status, { error: { code, message: "words" } });

test("accepts patterns that are bounded or have one repetition after their anchor", () => {
  for (const matches of ["a.?b", "^output.*sensitive", "a|b|c", "\\(1026\\)|^1026$", "x{0,40}y", "[+*]a", "\\*\\+", "^a\\w+$|^b"])
    expect(() => judgeOf([{ at: "/a", matches, class: "gone" }], [])).not.toThrow();
});

describe("a failure rule", () => {
  const CASES: [name: string, r: ProviderResponse, failure: string | undefined][] = [
    ["by case-insensitive pattern", error("OutputVideoSensitiveContentDetected"), "refused_output"],
    ["by a listed value", error("Sensitive"), "refused_input"],
    ["by a listed number", error(1301), "refused_input"],
    ["by status and code", error("quota", 429), "balance"],
    ["not by the code without the status", error("quota", 400), undefined],
    ["by status alone", answer(503, ""), "overloaded"],
    ["by the presence of a member", answer(400, { error: { busy: 0 } }), "rate_limited"],
    ["not by an unknown code", error("new"), undefined],
  ];
  for (const [name, r, failure] of CASES)
    test(`matches ${name}`, () => expect(JUDGE.verdict(r, "asking")?.class).toBe(failure as never));
  test("can apply only to submissions or only to polls", () => {
    expect(JUDGE.verdict(error("gone"), "asking")?.class).toBe("gone");
    expect(JUDGE.verdict(error("gone"), "submitting")?.class).toBe("config_fault");
  });
  test("reports the provider's error text", () => {
    expect(JUDGE.words(error("quota"))).toBe("quota words");
    expect(JUDGE.words(NONE)).toBe("down");
  });
  for (const [name, rule] of [
    ["without a condition", { class: "gone" }],
    ["with values but without a pointer", { http: [400], is: ["x"], class: "gone" }],
    ["with an invalid pattern", { at: "/a", matches: "(", class: "gone" }],
    ["that takes a pattern for proof", { at: "/a", matches: "invalid", class: "gone", proves_not_accepted: true }],
    [
      "that takes a pattern beside a code for proof",
      { at: "/a", is: ["x"], matches: "x", class: "gone", proves_not_accepted: true },
    ],
    ["that takes a status for proof", { http: [503], class: "gone", proves_not_accepted: true }],
    ["that takes the presence of a member for proof", { at: "/a", class: "gone", proves_not_accepted: true }],
    ...[
      "a.*b",
      "x+",
      "(a|b)*c",
      "^a.*b.*c",
      "^(a+)+$",
      "^(a*b)*",
      "^(a|a)*$",
      "^(a{0,9}){0,9}",
      "a{0,2000}b",
      "\\w+x",
      "[ab]{2,}c",
      "^a|b.*c",
    ].map((matches) => [`with the unbounded pattern ${matches}`, { at: "/a", matches, class: "gone" }] as const),
  ] as const)
    test(`${name} is rejected`, () => expect(() => judgeOf([rule as never], [])).toThrow(DialectError));
});

const JOB = { jobId: "job-1" };
const TEMPLATE: Omit<AnswerTemplate, "request"> = {
  job_id: "/id",
  status: "/status",
  states: {
    queued: "pending",
    done: "succeeded",
    elsewhere: "ask_result",
    failed: "failed",
    lost: "gone",
    moderated: "refused_output",
    "7": "refused_input",
  },
  results: [{ at: "/urls/*", mime: "video/mp4" }],
};
const read = (r: ProviderResponse, template = TEMPLATE) =>
  readAnswerOf(template, JUDGE)(r, JOB, { job: { id: "job-1" }, route: {} }, "https://api.example");
const status = (word: unknown, more: object = {}) => answer(200, { id: "job-1", status: word, ...more });

describe("the poll response of a job", () => {
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    ["that runs", status("queued"), { kind: "pending", seen: "queued" }],
    [
      "that is done",
      status("done", { urls: ["https://f/a.mp4"] }),
      { kind: "announced", results: [{ url: "https://f/a.mp4", mime: "video/mp4" }] },
    ],
    ["that is done with a separate result request", status("elsewhere"), { kind: "ask-result" }],
    ["that is done without a file", status("done"), { kind: "failed", failure: { class: "result_unreadable" } }],
    [
      "that is done with an invalid URL",
      status("done", { urls: ["file:///etc/passwd", 7] }),
      { kind: "failed", failure: { class: "result_unreadable" } },
    ],
    [
      "that failed with a reason",
      status("failed", { error: { code: "Sensitive" } }),
      { kind: "failed", failure: { class: "refused_input", detail: "failed: Sensitive" } },
    ],
    ["that failed without a reason", status("failed"), { kind: "failed", failure: { class: "job_failed" } }],
    [
      "that failed with a reason of the account",
      status("failed", { error: { code: "x", busy: 1 } }),
      { kind: "failed", failure: { class: "job_failed" } },
    ],
    ["that is refused by a text state", status("moderated"), { kind: "failed", failure: { class: "refused_output" } }],
    ["that is refused by a numeric state", status(7), { kind: "failed", failure: { class: "refused_input" } }],
    ["that is lost", status("lost"), { kind: "gone" }],
    ["in an unknown state", status("warming"), { kind: "unclear", detail: "200: unknown status warming" }],
    ["without a state", answer(200, { id: "job-1" }), { kind: "unclear", detail: "200: no status that can be read" }],
    [
      "with another job id",
      answer(200, { id: "job-2", status: "done" }),
      { kind: "unclear", detail: "200: an answer about another job" },
    ],
    ["with status 404", answer(404, { error: { code: "x" } }), { kind: "gone" }],
    ["with a code for gone", error("gone"), { kind: "gone" }],
    ["that is refused with an error status", error("Sensitive"), { kind: "failed", failure: { class: "refused_input" } }],
    ["with a 5xx status", answer(502, ""), { kind: "unclear" }],
    ["with an account error", error("quota", 429), { kind: "unclear" }],
  ];
  for (const [name, r, outcome] of CASES)
    test(`${name} is ${JSON.stringify(outcome)}`, () => expect(read(r)).toMatchObject(outcome));

  test("is read by its HTTP status if the dialect says so", () => {
    const template: typeof TEMPLATE = {
      status: "@status",
      states: { "202": "pending", "200": "succeeded", "410": "gone" },
      results: [{ at: "/url" }],
    };
    expect(read(answer(202, {}), template)).toMatchObject({ kind: "pending", seen: "202" });
    expect(read(answer(410, {}), template)).toEqual({ kind: "gone" });
    expect(read(answer(200, { url: "https://f/a" }), template)).toEqual({ kind: "announced", results: [{ url: "https://f/a" }] });
  });
});

describe("a result file", () => {
  const of = (result: object, body: unknown, more: Partial<ProviderResponse> = {}) => {
    const outcome = read({ ...answer(200, body), ...more }, { results: [result as never] });
    return outcome.kind === "announced" ? outcome.results : outcome.kind;
  };
  test("as base64 becomes a data URL", () =>
    expect(of({ at: "/b", as: "base64", mime: "image/png" }, { b: "iVBO Rw0=\n" })).toEqual([
      { url: "data:image/png;base64,iVBORw0=", mime: "image/png" },
    ]));
  test("as a base64 data URL loses its media type", () =>
    expect(of({ at: "/b", as: "base64" }, { b: "data:image/png;base64,iVBORw0=" })).toEqual([
      { url: "data:application/octet-stream;base64,iVBORw0=" },
    ]));
  test("as invalid base64 fails", () => expect(of({ at: "/b", as: "base64" }, { b: "<html>" })).toBe("failed"));
  test("as hex becomes a data URL", () =>
    expect(of({ at: "/b", as: "hex", mime: "audio/mpeg" }, { b: "ff00" })).toEqual([
      { url: "data:audio/mpeg;base64,/wA=", mime: "audio/mpeg" },
    ]));
  test("as invalid hex fails", () => expect(of({ at: "/b", as: "hex" }, { b: "ff0" })).toBe("failed"));
  test("as hex of 16 million characters becomes a data URL", () => {
    const [file] = of({ at: "/b", as: "hex" }, { b: "fffb90c4".repeat(2_000_000) }) as { url: string }[];
    expect(file?.url.length).toBeGreaterThan(10_000_000);
  });
  test("as base64 that is invalid after 400,000 spaces fails within one second", () => {
    const startedMs = performance.now();
    expect(of({ at: "/b", as: "base64" }, { b: `A${" ".repeat(400_000)}!` })).toBe("failed");
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
  test("can be the whole response body", () => {
    const bytes = new Uint8Array([255, 0]);
    expect(of({ as: "body", mime: "audio/mpeg" }, "", { bytes, headers: { "content-type": "audio/wav; x=1" } })).toEqual([
      { url: "data:audio/wav;base64,/wA=" },
    ]);
    expect(of({ as: "body" }, "", { bytes: new Uint8Array() })).toBe("failed");
  });
  test("can have a URL made from the job id", () =>
    expect(of({ path: "/videos/{job.id}/content" }, {})).toEqual([{ url: "https://api.example/videos/job-1/content" }]));
  test("has an expiry time by the date header of the response", () => {
    const headers = { date: "Mon, 23 Nov 2026 06:00:00 GMT" };
    expect(of({ at: "/u", kept_s: 60 }, { u: "https://f/a" }, { headers })).toEqual([
      { url: "https://f/a", expiresAtMs: Date.UTC(2026, 10, 23, 6, 1) },
    ]);
  });
  test("with neither pointer nor path is rejected", () =>
    expect(() => read(status("done"), { results: [{ mime: "x" }] })).toThrow(DialectError));
});
