// Answers as dialect files read them: pointers, failure rules, states of jobs, and files in the forms in which providers give them.
import { describe, expect, test } from "bun:test";
import { judgeOf } from "../../../src/providers/dialect/error-rules.ts";
import { DialectFault } from "../../../src/providers/dialect/placeholders.ts";
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
    test(`${pointer} leads to ${JSON.stringify(found)}`, () => expect(seekOf(pointer)(TREE)).toEqual(found));
  test("leads into headers and words", () => {
    expect(seekOf("@header/Retry-After")(NONE)).toEqual(["3"]);
    expect(seekOf("@text")(NONE)).toEqual(["down"]);
    expect(seekOf("")(NONE)).toEqual([]);
  });
  for (const wrong of ["data", "/a//b", "/a[b", "@body"])
    test(`${wrong} is refused`, () => expect(() => seekOf(wrong)).toThrow(DialectFault));
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

test("patterns that have a bound, or one repeat behind their beginning, are taken", () => {
  for (const matches of ["a.?b", "^output.*sensitive", "a|b|c", "\\(1026\\)|^1026$", "x{0,40}y", "[+*]a", "\\*\\+", "^a\\w+$|^b"])
    expect(() => judgeOf([{ at: "/a", matches, class: "gone" }], [])).not.toThrow();
});

describe("a failure rule", () => {
  const CASES: [name: string, r: ProviderResponse, failure: string | undefined][] = [
    ["by pattern, upper and lower case alike", error("OutputVideoSensitiveContentDetected"), "refused_output"],
    ["by one of its values", error("Sensitive"), "refused_input"],
    ["by a number", error(1301), "refused_input"],
    ["by status and code", error("quota", 429), "balance"],
    ["not by the code alone", error("quota", 400), undefined],
    ["by status alone", answer(503, ""), "overloaded"],
    ["by a member that is there", answer(400, { error: { busy: 0 } }), "rate_limited"],
    ["not when nothing fits", error("new"), undefined],
  ];
  for (const [name, r, failure] of CASES)
    test(`fits ${name}`, () => expect(JUDGE.verdict(r, "asking")?.class).toBe(failure as never));
  test("may be for submissions only, or for questions", () => {
    expect(JUDGE.verdict(error("gone"), "asking")?.class).toBe("gone");
    expect(JUDGE.verdict(error("gone"), "submitting")?.class).toBe("config_fault");
  });
  test("brings the provider's own words", () => {
    expect(JUDGE.words(error("quota"))).toBe("quota words");
    expect(JUDGE.words(NONE)).toBe("down");
  });
  for (const [name, rule] of [
    ["without a condition", { class: "gone" }],
    ["with a value of nothing", { http: [400], is: ["x"], class: "gone" }],
    ["with a pattern that is none", { at: "/a", matches: "(", class: "gone" }],
    ["that takes words for proof", { at: "/a", matches: "invalid", class: "gone", proves_not_accepted: true }],
    ["that takes words beside a code for proof", { at: "/a", is: ["x"], matches: "x", class: "gone", proves_not_accepted: true }],
    ["that takes a status for proof", { http: [503], class: "gone", proves_not_accepted: true }],
    ["that takes whatever is there for proof", { at: "/a", class: "gone", proves_not_accepted: true }],
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
    ].map((matches) => [`whose pattern ${matches} could go on for ever`, { at: "/a", matches, class: "gone" }] as const),
  ] as const)
    test(`${name} is refused`, () => expect(() => judgeOf([rule as never], [])).toThrow(DialectFault));
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

describe("a job's answer", () => {
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    ["under way", status("queued"), { kind: "pending", seen: "queued" }],
    [
      "done",
      status("done", { urls: ["https://f/a.mp4"] }),
      { kind: "announced", results: [{ url: "https://f/a.mp4", mime: "video/mp4" }] },
    ],
    ["done, its result elsewhere", status("elsewhere"), { kind: "ask-result" }],
    ["done, without a file", status("done"), { kind: "failed", failure: { class: "result_unreadable" } }],
    [
      "done, with an address that is none",
      status("done", { urls: ["file:///etc/passwd", 7] }),
      { kind: "failed", failure: { class: "result_unreadable" } },
    ],
    [
      "failed, with a reason",
      status("failed", { error: { code: "Sensitive" } }),
      { kind: "failed", failure: { class: "refused_input", detail: "failed: Sensitive" } },
    ],
    ["failed, without one", status("failed"), { kind: "failed", failure: { class: "job_failed" } }],
    [
      "failed, for a reason that is ours",
      status("failed", { error: { code: "x", busy: 1 } }),
      { kind: "failed", failure: { class: "job_failed" } },
    ],
    ["refused by a word", status("moderated"), { kind: "failed", failure: { class: "refused_output" } }],
    ["refused by a number", status(7), { kind: "failed", failure: { class: "refused_input" } }],
    ["lost", status("lost"), { kind: "gone" }],
    ["in a state of tomorrow", status("warming"), { kind: "unclear", detail: "200: unknown status warming" }],
    ["in no state", answer(200, { id: "job-1" }), { kind: "unclear", detail: "200: no status that can be read" }],
    [
      "about another job",
      answer(200, { id: "job-2", status: "done" }),
      { kind: "unclear", detail: "200: an answer about another job" },
    ],
    ["of which nobody knows", answer(404, { error: { code: "x" } }), { kind: "gone" }],
    ["of which nobody knows, by code", error("gone"), { kind: "gone" }],
    ["refused with an error status", error("Sensitive"), { kind: "failed", failure: { class: "refused_input" } }],
    ["answered with 5xx", answer(502, ""), { kind: "unclear" }],
    ["answered with our own fault", error("quota", 429), { kind: "unclear" }],
  ];
  for (const [name, r, outcome] of CASES) test(name, () => expect(read(r)).toMatchObject(outcome));

  test("is read by its status where the file says so", () => {
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

describe("a file", () => {
  const of = (result: object, body: unknown, more: Partial<ProviderResponse> = {}) => {
    const outcome = read({ ...answer(200, body), ...more }, { results: [result as never] });
    return outcome.kind === "announced" ? outcome.results : outcome.kind;
  };
  test("as base64", () =>
    expect(of({ at: "/b", as: "base64", mime: "image/png" }, { b: "iVBO Rw0=\n" })).toEqual([
      { url: "data:image/png;base64,iVBORw0=", mime: "image/png" },
    ]));
  test("as base64 with its own head", () =>
    expect(of({ at: "/b", as: "base64" }, { b: "data:image/png;base64,iVBORw0=" })).toEqual([
      { url: "data:application/octet-stream;base64,iVBORw0=" },
    ]));
  test("as base64 that is none", () => expect(of({ at: "/b", as: "base64" }, { b: "<html>" })).toBe("failed"));
  test("as hex", () =>
    expect(of({ at: "/b", as: "hex", mime: "audio/mpeg" }, { b: "ff00" })).toEqual([
      { url: "data:audio/mpeg;base64,/wA=", mime: "audio/mpeg" },
    ]));
  test("as hex that is none", () => expect(of({ at: "/b", as: "hex" }, { b: "ff0" })).toBe("failed"));
  test("as hex of many megabytes, as minutes of speech are", () => {
    const [file] = of({ at: "/b", as: "hex" }, { b: "fffb90c4".repeat(2_000_000) }) as { url: string }[];
    expect(file?.url.length).toBeGreaterThan(10_000_000);
  });
  test("as base64 that goes wrong after many blanks is seen through at once", () => {
    const startedMs = performance.now();
    expect(of({ at: "/b", as: "base64" }, { b: `A${" ".repeat(400_000)}!` })).toBe("failed");
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
  test("as the whole answer", () => {
    const bytes = new Uint8Array([255, 0]);
    expect(of({ as: "body", mime: "audio/mpeg" }, "", { bytes, headers: { "content-type": "audio/wav; x=1" } })).toEqual([
      { url: "data:audio/wav;base64,/wA=" },
    ]);
    expect(of({ as: "body" }, "", { bytes: new Uint8Array() })).toBe("failed");
  });
  test("at an address made of the job's id", () =>
    expect(of({ path: "/videos/{job.id}/content" }, {})).toEqual([{ url: "https://api.example/videos/job-1/content" }]));
  test("says by when it must be fetched, by the answer's own clock", () => {
    const headers = { date: "Mon, 23 Nov 2026 06:00:00 GMT" };
    expect(of({ at: "/u", kept_s: 60 }, { u: "https://f/a" }, { headers })).toEqual([
      { url: "https://f/a", expiresAtMs: Date.UTC(2026, 10, 23, 6, 1) },
    ]);
  });
  test("with neither pointer nor path is refused", () =>
    expect(() => read(status("done"), { results: [{ mime: "x" }] })).toThrow(DialectFault));
});
