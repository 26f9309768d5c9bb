// Lookup of lost submissions by dialect files: by our id, by our reference on a list, or by the listed input.
import { describe, expect, test } from "bun:test";
import { judgeOf } from "../../../src/providers/dialect/error-rules.ts";
import { findingOf } from "../../../src/providers/dialect/lookup.ts";
import { DialectError } from "../../../src/providers/dialect/placeholders.ts";
import type { FindTemplate } from "../../../src/providers/dialect/schema.ts";
import { CLOCK_SLACK_MS } from "../../../src/providers/list-match.ts";
import { answer } from "../task.ts";

const SENT_AT_MS = Date.UTC(2026, 10, 23, 6);
const SENT_S = SENT_AT_MS / 1000;
const CONTEXT = {
  ...{ ref: "abc-1", endpoint: "maker/model", options: {}, baseUrl: "https://api.example" },
  input: { raw: {}, filled: {} },
};
const SCOPE = {
  ref: "abc-1",
  ref_uuid: "u-u-i-d",
  route: { endpoint: "maker/model" },
  input: { prompt: "a fox" },
  mapped: { prompt: "a fox", seconds: 5 },
};
const windows = { window_s: 604_800, settle_s: 180 };
const found = (template: FindTemplate) => {
  const finding = findingOf(template, { "x-version": "1" }, judgeOf([], ["/message"]));
  if (!finding) throw new Error("the dialect declares no lookup");
  return finding;
};

const MARKED: FindTemplate = {
  ...{ by: "list_marker", items: "/items", job_id: "/id", marker: "/mark", ...windows },
  request: { path: "/tasks", query: { page: "{page}", since: "{since_ms|unix}", model: "{route.endpoint}" } },
  created: { at: "/created", in: "s" },
  next: { page_from: 1, most: 2 },
};

describe("the lookup on a list with references", () => {
  const list = found(MARKED);
  const page = (items: unknown[], asked: string | null = null) =>
    list.readFindPage?.(answer(200, { items }), CONTEXT, SCOPE, SENT_AT_MS, asked);
  const item = (mark: string | null, more: object = {}) => ({ id: "job-1", mark, created: SENT_S, ...more });

  test("requests page by page, from shortly before the submission", () => {
    const since = SENT_S - CLOCK_SLACK_MS / 1000;
    expect(list.find(CONTEXT, SCOPE, SENT_AT_MS, null)).toEqual({
      method: "GET",
      url: `https://api.example/tasks?page=1&since=${since}&model=maker%2Fmodel`,
      headers: { "x-version": "1" },
    });
    expect(list.find(CONTEXT, SCOPE, SENT_AT_MS, "2").url).toContain("page=2&");
  });
  test("finds the job with our reference", () =>
    expect(page([item("abc-1")])).toEqual({
      kind: "page",
      candidates: [{ job: { jobId: "job-1" }, match: "certain" }],
      next: "2",
    }));
  test("finds our reference inside a URL", () =>
    expect(page([item("https://r/cb/abc-1")])).toMatchObject({ candidates: [{ match: "certain" }] }));
  test("omits jobs with other references", () => {
    for (const mark of ["abc-2", "abc-12", "xabc-1", "https://r/cb/abc-12/mac"])
      expect(page([item(mark)])).toMatchObject({ candidates: [] });
  });
  test("lists a job without a reference as possible", () =>
    expect(page([item(null)])).toMatchObject({ candidates: [{ match: "possible" }] }));
  test("omits jobs older than the submission", () =>
    expect(page([item(null, { created: SENT_S - 999 })])).toMatchObject({ candidates: [] }));
  test("continues until an empty page, because page sizes may vary", () => {
    expect(page([item("x"), item("x")])).toMatchObject({ next: "2" });
    expect(page([item("x")], "2")).toMatchObject({ next: "3" });
    expect(page([], "3")).toMatchObject({ next: null });
  });
  test("with an item offset continues after the received items, whatever the requested number", () => {
    const byItem = found({ ...MARKED, next: { page_from: 0, most: 100, step: 100 } });
    const next = (items: unknown[], asked: string | null) =>
      byItem.readFindPage?.(answer(200, { items }), CONTEXT, SCOPE, SENT_AT_MS, asked);
    expect(next([item("x"), item("x")], null)).toMatchObject({ next: "2" });
    expect(next([item("x")], "2")).toMatchObject({ next: "3" });
    expect(next([], "3")).toMatchObject({ next: null });
  });
  test("lists a job with the same input but without our callback URL as possible if ours has one", () => {
    const both = found({ ...MARKED, input: "/input" });
    const reported = { ...CONTEXT, callbackUrl: "https://r/cb/abc-1" };
    const matches = (c: typeof CONTEXT) =>
      both.readFindPage?.(answer(200, { items: [item(null, { input: SCOPE.mapped })] }), c, SCOPE, SENT_AT_MS, null);
    expect(matches(CONTEXT)).toMatchObject({ candidates: [{ match: "equal" }] });
    expect(matches(reported)).toMatchObject({ candidates: [{ match: "possible" }] });
  });
  for (const [name, r] of [
    ["a response with an error", answer(500, { message: "down" })],
    ["a response without a list", answer(200, {})],
  ] as const)
    test(`is unclear for ${name}`, () =>
      expect(list.readFindPage?.(r, CONTEXT, SCOPE, SENT_AT_MS, null)).toMatchObject({ kind: "unclear" }));
  test("rejects a dialect without the pointer to the reference", () => {
    const { marker: _, ...without } = MARKED as never as { marker: string };
    expect(() => findingOf(without as never, {}, judgeOf([], []))).toThrow(DialectError);
  });
});

describe("the lookup on a list with inputs", () => {
  const template: FindTemplate = {
    ...{ by: "list_match", items: "", job_id: "/id", input: "/input", ...windows },
    request: { method: "POST", path: "/list", body: { page: "{page|int}" } },
    created: { at: "/at", in: "iso" },
    is_newest_first: true,
    next: { url: "/0/next" },
  };
  const list = found(template);
  const at = (ms: number) => new Date(SENT_AT_MS + ms).toISOString();
  const read = (items: unknown[]) => list.readFindPage?.(answer(200, items), CONTEXT, SCOPE, SENT_AT_MS, null);

  test("lists jobs with the same input as equal and those that may have it as possible", () =>
    expect(
      read([
        { id: "a", at: at(0), input: { seconds: 5, prompt: "a fox" } },
        { id: "b", at: at(0), input: { prompt: "a dog", seconds: 5 } },
        { id: "c", at: at(0), input: { prompt: "a fox", seconds: 5, seed: 1 } },
        { id: "d", at: at(0) },
      ]),
    ).toMatchObject({
      candidates: [
        { job: { jobId: "a" }, match: "equal" },
        { job: { jobId: "c" }, match: "possible" },
        { job: { jobId: "d" }, match: "possible" },
      ],
    }));
  test("continues at the next URL of the response and is unclear for an invalid one", () => {
    expect(read([{ id: "a", at: at(0), next: "https://api.example/list?2" }])).toMatchObject({
      next: "https://api.example/list?2",
    });
    expect(list.find(CONTEXT, SCOPE, SENT_AT_MS, "https://api.example/list?2").url).toBe("https://api.example/list?2");
    expect(read([{ id: "a", at: at(0), next: "file:///etc" }])).toMatchObject({ kind: "unclear" });
  });
  test("ends at the first job older than the submission", () =>
    expect(read([{ id: "a", at: at(-999_000), next: "https://api.example/list?2" }])).toMatchObject({
      candidates: [],
      next: null,
    }));
  test("compares the listed input with the template sent", () => {
    const other = found({ ...template, sent: { text: "{input.prompt}" } });
    const page = other.readFindPage?.(
      answer(200, [{ id: "a", at: at(0), input: { text: "a fox" } }]),
      CONTEXT,
      SCOPE,
      SENT_AT_MS,
      null,
    );
    expect(page).toMatchObject({ candidates: [{ match: "equal" }] });
  });
  test("compares only the sent members if the list item itself is the input", () => {
    const other = found({ ...template, input: "", sent: { text: "{input.prompt}", shape: "wide" } });
    const items = [
      { id: "a", at: at(0), text: "a fox", shape: "wide", status: "queued" },
      { id: "b", at: at(0), text: "a dog", shape: "wide", status: "queued" },
      { id: "c", at: at(0), text: "a fox", status: "queued" },
      { id: "d", at: at(0), text: null, shape: "wide", status: "queued" },
    ];
    expect(other.readFindPage?.(answer(200, items), CONTEXT, SCOPE, SENT_AT_MS, null)).toMatchObject({
      candidates: [
        { job: { jobId: "a" }, match: "equal" },
        { job: { jobId: "c" }, match: "possible" },
        { job: { jobId: "d" }, match: "possible" },
      ],
    });
  });
});

describe("the lookup by our id", () => {
  const byId = found({
    ...{ by: "client_id", job_id: "/data/task", repeats: "/data/id", ...windows },
    request: { path: "/videos/{ref}" },
    absent: [{ at: "/code", is: [1203], class: "gone" }],
  });
  test("requests the URL with our id", () =>
    expect(byId.find(CONTEXT, SCOPE, SENT_AT_MS, null).url).toBe("https://api.example/videos/abc-1"));
  test("returns the job", () =>
    expect(byId.readFind?.(answer(200, { data: { task: 812, id: "abc-1" } }), SCOPE)).toEqual({
      kind: "found",
      job: { jobId: "812" },
    }));
  test("is unclear for a response with another id", () =>
    expect(byId.readFind?.(answer(200, { data: { task: 812, id: "abc-12" } }), SCOPE).kind).toBe("unclear"));
  test("returns absent for the declared code", () =>
    expect(byId.readFind?.(answer(404, { code: 1203 }), SCOPE)).toEqual({ kind: "absent" }));
  test("is unclear for a server error", () =>
    expect(byId.readFind?.(answer(500, { message: "down" }), SCOPE)).toEqual({ kind: "unclear", detail: "500: down" }));
});

test("findingOf returns undefined for a dialect without a lookup request", () => {
  expect(findingOf({ by: "none" }, {}, judgeOf([], []))).toBeUndefined();
  expect(findingOf({ by: "key", ...windows }, {}, judgeOf([], []))).toBeUndefined();
});
