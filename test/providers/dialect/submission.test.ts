// Submission responses read by dialect files: jobs, synchronous results, and proofs of rejection.
import { describe, expect, test } from "bun:test";
import { judgeOf } from "../../../src/providers/dialect/error-rules.ts";
import { DialectError } from "../../../src/providers/dialect/placeholders.ts";
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

describe("the submission to an asynchronous provider", () => {
  const template = { accepted: { job_id: "/data/id", poll_url: "/data/poll", cancel_url: "/data/cancel" } };
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    ["with status 200 and a job id", answer(200, { data: { id: "job-1" } }), { kind: "accepted", job: { jobId: "job-1" } }],
    ["with status 202 and a numeric job id", answer(202, { data: { id: 77 } }), { kind: "accepted", job: { jobId: "77" } }],
    [
      "with a valid and an invalid URL",
      answer(200, { data: { id: "job-1", poll: "https://api.example/p", cancel: "nowhere" } }),
      { kind: "accepted", job: { jobId: "job-1", urls: { poll: "https://api.example/p" } } },
    ],
    ["with a job id that is a path", answer(200, { data: { id: "../x" } }), { kind: "ambiguous" }],
    ["with status 200 and no job id", answer(200, {}), { kind: "ambiguous" }],
    ["with status 200 and an error that proves nothing", answer(200, { code: "broken" }), { kind: "ambiguous" }],
    [
      "with status 200 and an error that proves rejection",
      answer(200, { code: "busy" }),
      { kind: "rejected", failure: { class: "overloaded" } },
    ],
    [
      "with status 503 and an error that proves rejection",
      answer(503, { code: "busy" }),
      { kind: "rejected", failure: { class: "overloaded" } },
    ],
    ["with status 500", answer(500, { code: "broken" }), { kind: "ambiguous" }],
    ["with status 409", answer(409, {}), { kind: "ambiguous" }],
    [
      "with status 422",
      answer(422, { code: "new" }),
      { kind: "rejected", failure: { class: "invalid_for_route", detail: "422: new" } },
    ],
    ["with status 429 and a quota error", answer(429, { code: "quota" }), { kind: "rejected", failure: { class: "balance" } }],
    [
      "with status 429 and retry-after",
      answer(429, {}, { "retry-after": "7" }),
      { kind: "rejected", failure: { class: "rate_limited", retryAfterMs: 7000 } },
    ],
  ];
  for (const [name, r, outcome] of CASES)
    test(`${name} is ${JSON.stringify(outcome)}`, () => expect(read(template, r)).toMatchObject(outcome));

  test("is polled at the declared path if the response has no URL", () => {
    const path = { accepted: { job_id: "/id", poll_url: "/poll", poll_path: "/v1/{route.endpoint}/{job.id}" } };
    expect(read(path, answer(200, { id: "7" }))).toEqual({
      kind: "accepted",
      job: { jobId: "7", urls: { poll: "https://api.example/v1/videos/text/7" } },
    });
    expect(read(path, answer(200, { id: "7", poll: "https://p/7" }))).toMatchObject({ job: { urls: { poll: "https://p/7" } } });
  });
});

describe("the submission to a synchronous provider", () => {
  const template = { results: [{ at: "/images/*", as: "base64" as const, mime: "image/png" }], job_id: "/id" };
  const FILE = { url: "data:image/png;base64,aGk=", mime: "image/png" };
  const CASES: [name: string, r: ProviderResponse, outcome: object][] = [
    [
      "with a file and a job id",
      answer(200, { id: "r-1", images: ["aGk="] }),
      { kind: "announced", job: { jobId: "r-1" }, results: [FILE] },
    ],
    [
      "with a file and no job id",
      answer(200, { images: ["aGk="] }),
      { kind: "announced", job: { jobId: "abc-1" }, results: [FILE] },
    ],
    [
      "with a file that is marked as withheld",
      answer(200, { images: ["aGk="], withheld: true }),
      { kind: "rejected", failure: { class: "refused_output" } },
    ],
    ["with status 200 and no file", answer(200, { images: [] }), { kind: "ambiguous" }],
    ["with status 500", answer(500, {}), { kind: "ambiguous" }],
  ];
  for (const [name, r, outcome] of CASES)
    test(`${name} is ${JSON.stringify(outcome)}`, () => expect(read(template, r)).toMatchObject(outcome));
  test("without a file is refused_output if the dialect declares that for an empty list", () => {
    expect(read({ ...template, empty: "refused_output" }, answer(200, { images: [] }))).toMatchObject({
      kind: "rejected",
      failure: { class: "refused_output" },
    });
  });
  for (const [name, body] of [
    ["is not JSON", "<html>"],
    ["lacks the file member", {}],
    ["is a list", []],
    ["has other members", { note: "soon" }],
    ["has an invalid file", { images: ["%%%"] }],
    ["has an empty file", { images: [""] }],
    ["has an object in place of the file", { images: [{}] }],
  ] as const)
    test(`is ambiguous if the response ${name}, because the provider may have billed it`, () => {
      expect(read({ ...template, empty: "refused_output" }, answer(200, body))).toMatchObject({ kind: "ambiguous" });
    });
});

test("rejects a dialect with neither or both of accepted and results", () => {
  expect(() => read({}, answer(200, {}))).toThrow(DialectError);
  expect(() => read({ accepted: { job_id: "/id" }, results: [{ at: "/x" }] }, answer(200, {}))).toThrow(DialectError);
});

describe("a submission response", () => {
  const template = { accepted: { job_id: "/id" } };
  const kindOf = (status: number, code: string) => read(template, answer(status, { code })).kind;
  test("with a code that proves rejection is rejected under any status", () => {
    for (const status of [200, 400, 409, 503]) expect(kindOf(status, "busy")).toBe("rejected");
  });
  test("that matches only a pattern is rejected for 400 and 429, and ambiguous for other statuses", () => {
    for (const status of [400, 429]) expect(kindOf(status, "bad_size")).toBe("rejected");
    for (const status of [200, 202, 408, 409, 500, 502, 503, 504]) expect(kindOf(status, "bad_gateway_answer")).toBe("ambiguous");
  });
  test("with a code for an existing job is ambiguous under any status", () => {
    for (const status of [200, 400, 404, 409, 422, 500]) expect(kindOf(status, "twice")).toBe("ambiguous");
  });
});
