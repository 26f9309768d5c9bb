// Submissions as dialect files read them: the job of an answer, the files of one that is made at once, and what proves that nothing was taken.
import { describe, expect, test } from "bun:test";
import { judgeOf } from "../../../src/providers/dialect/error-rules.ts";
import { DialectFault } from "../../../src/providers/dialect/placeholders.ts";
import type { Dialect } from "../../../src/providers/dialect/schema.ts";
import { submissionOf } from "../../../src/providers/dialect/submission.ts";
import type { ProviderResponse } from "../../../src/providers/port.ts";
import { answer } from "../task.ts";

const JUDGE = judgeOf(
  [
    { at: "/code", is: ["quota"], class: "balance" },
    { at: "/code", is: ["busy"], class: "overloaded", proves_not_accepted: true },
    { at: "/code", is: ["broken"], class: "job_failed" },
    { at: "/code", matches: "^bad_", class: "invalid_for_route" },
    { at: "/code", is: ["twice"], class: "job_failed", proves_not_accepted: false },
    { at: "/withheld", is: [true], class: "refused_output", proves_not_accepted: true },
  ],
  ["/code"],
);
const CONTEXT = {
  ...{ ref: "abc-1", endpoint: "videos", options: {}, baseUrl: "https://api.example" },
  input: { raw: {}, filled: {} },
};
const SCOPE = { ref: "abc-1", route: { endpoint: "videos/text" } };
type Template = Dialect["submit"];
const request = { path: "/" };
const read = (template: Omit<Template, "request">, r: ProviderResponse) =>
  submissionOf({ request, ...template }, JUDGE).read(r, CONTEXT, SCOPE);

describe("a provider that names a job", () => {
  const template = { accepted: { job_id: "/data/id", poll_url: "/data/poll", cancel_url: "/data/cancel" } };
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    ["accepts", answer(200, { data: { id: "job-1" } }), { kind: "accepted", job: { jobId: "job-1" } }],
    ["accepts with 202 and a number", answer(202, { data: { id: 77 } }), { kind: "accepted", job: { jobId: "77" } }],
    [
      "gives addresses",
      answer(200, { data: { id: "job-1", poll: "https://api.example/p", cancel: "nowhere" } }),
      { kind: "accepted", job: { jobId: "job-1", urls: { poll: "https://api.example/p" } } },
    ],
    ["names a job that climbs out of an address", answer(200, { data: { id: "../x" } }), { kind: "ambiguous" }],
    ["answers 200 without a job", answer(200, {}), { kind: "ambiguous" }],
    ["answers 200 with an error that proves nothing", answer(200, { code: "broken" }), { kind: "ambiguous" }],
    [
      "answers 200 with an error that comes before any work",
      answer(200, { code: "busy" }),
      { kind: "rejected", failure: { class: "overloaded" } },
    ],
    ["answers 503 with such an error", answer(503, { code: "busy" }), { kind: "rejected", failure: { class: "overloaded" } }],
    ["answers 500", answer(500, { code: "broken" }), { kind: "ambiguous" }],
    ["answers 409", answer(409, {}), { kind: "ambiguous" }],
    [
      "refuses with 422",
      answer(422, { code: "new" }),
      { kind: "rejected", failure: { class: "invalid_for_route", detail: "422: new" } },
    ],
    ["refuses with 429 for lack of money", answer(429, { code: "quota" }), { kind: "rejected", failure: { class: "balance" } }],
    [
      "asks to wait",
      answer(429, {}, { "retry-after": "7" }),
      { kind: "rejected", failure: { class: "rate_limited", retryAfterMs: 7000 } },
    ],
  ];
  for (const [name, r, outcome] of CASES) test(name, () => expect(read(template, r)).toMatchObject(outcome));

  test("is asked about at a path that needs the input, where it gives no address", () => {
    const path = { accepted: { job_id: "/id", poll_url: "/poll", poll_path: "/v1/{route.endpoint}/{job.id}" } };
    expect(read(path, answer(200, { id: "7" }))).toEqual({
      kind: "accepted",
      job: { jobId: "7", urls: { poll: "https://api.example/v1/videos/text/7" } },
    });
    expect(read(path, answer(200, { id: "7", poll: "https://p/7" }))).toMatchObject({ job: { urls: { poll: "https://p/7" } } });
  });
});

describe("a provider that makes it at once", () => {
  const template = { results: [{ at: "/images/*", as: "base64" as const, mime: "image/png" }], job_id: "/id" };
  const FILE = { url: "data:image/png;base64,aGk=", mime: "image/png" };
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    ["has made it", answer(200, { id: "r-1", images: ["aGk="] }), { kind: "announced", job: { jobId: "r-1" }, results: [FILE] }],
    [
      "has no name for it: ours will do",
      answer(200, { images: ["aGk="] }),
      { kind: "announced", job: { jobId: "abc-1" }, results: [FILE] },
    ],
    [
      "withholds it, though it is there",
      answer(200, { images: ["aGk="], withheld: true }),
      { kind: "rejected", failure: { class: "refused_output" } },
    ],
    ["answers 200 without it", answer(200, { images: [] }), { kind: "ambiguous" }],
    ["answers 500", answer(500, {}), { kind: "ambiguous" }],
  ];
  for (const [name, r, outcome] of CASES) test(name, () => expect(read(template, r)).toMatchObject(outcome));
  test("and means something by leaving it out", () => {
    expect(read({ ...template, empty: "refused_output" }, answer(200, { images: [] }))).toMatchObject({
      kind: "rejected",
      failure: { class: "refused_output" },
    });
  });
  for (const [name, body] of [
    ["is no JSON", "<html>"],
    ["has no place for files", {}],
    ["is a list", []],
    ["speaks of something else", { note: "soon" }],
    ["has something that is no file", { images: ["%%%"] }],
    ["has a file of no length", { images: [""] }],
    ["has an object where the file should be", { images: [{}] }],
  ] as const)
    test(`but an answer that ${name} leaves nothing out: what was made may have been paid for`, () => {
      expect(read({ ...template, empty: "refused_output" }, answer(200, body))).toMatchObject({ kind: "ambiguous" });
    });
});

test("one that does neither, or both, is refused", () => {
  expect(() => read({}, answer(200, {}))).toThrow(DialectFault);
  expect(() => read({ accepted: { job_id: "/id" }, results: [{ at: "/x" }] }, answer(200, {}))).toThrow(DialectFault);
});

describe("a refusal", () => {
  const template = { accepted: { job_id: "/id" } };
  const kindOf = (status: number, code: string) => read(template, answer(status, { code })).kind;
  test("by a code that was looked up is proof under any status", () => {
    for (const status of [200, 400, 409, 503]) expect(kindOf(status, "busy")).toBe("rejected");
  });
  test("by words that fit a pattern is none where the status says that a job may exist", () => {
    for (const status of [400, 429]) expect(kindOf(status, "bad_size")).toBe("rejected");
    for (const status of [200, 202, 408, 409, 500, 502, 503, 504]) expect(kindOf(status, "bad_gateway_answer")).toBe("ambiguous");
  });
  test("that says the job is there already is none under any status", () => {
    for (const status of [200, 400, 404, 409, 422, 500]) expect(kindOf(status, "twice")).toBe("ambiguous");
  });
});
