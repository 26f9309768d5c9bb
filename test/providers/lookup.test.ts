// Lookup of a lost submission on a provider's list: reads all pages, ignores jobs of others, never guesses.
import { describe, expect, test } from "bun:test";
import { createProviders } from "../../src/providers/providers.ts";
import { taskFor } from "./task.ts";
import { answerOf, openWire } from "./wire.ts";

const never = new AbortController().signal;
const SENT = { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", generate_audio: false };
const prediction = (id: string, input: object = SENT) => ({ id, input, created_at: "2026-11-21T10:00:01Z", status: "starting" });

/** A list of these pages; a number is an HTTP error in place of the page. */
type Page = object[] | number;
const openList = (pages: Page[]) => {
  let asked = 0;
  const wire = openWire({
    asked(socket) {
      const page = pages[asked++] ?? 404;
      const next = asked < pages.length ? `${wire.url}/predictions?cursor=${asked}` : null;
      socket.write(typeof page === "number" ? answerOf(page, {}) : answerOf(200, { results: page, next }));
    },
  });
  return wire;
};
const openReplicate = (base_url: string, owned: readonly string[] = [], findMs = 3_000) =>
  createProviders({
    settings: { replicate: { base_url, key: "s3cr3t-0123456789" } },
    isOwned: (_, jobId) => Promise.resolve(owned.includes(jobId)),
    timeouts: { findMs },
  });
const lost = (ref = "a-1") => taskFor({ provider: "replicate", ref });

const found = (jobId: string) => ({ kind: "found", job: { jobId } });
const ROWS: [name: string, pages: Page[], owned: string[], outcome: object, pagesRead?: number][] = [
  ["is found if one job has the same input", [[prediction("a")]], [], found("a")],
  ["is found on the last page", [[prediction("x", { prompt: "y" })], [], [prediction("a")]], [], found("a")],
  ["is absent if the list is empty", [[]], [], { kind: "absent" }],
  ["is absent only after every page was read", [[], [], []], [], { kind: "absent" }],
  ["is unclear if a page fails, even after a match", [[prediction("a")], 500], [], { kind: "unclear" }, 2],
  [
    "is unclear if two jobs have the same input",
    [[prediction("a"), prediction("b")]],
    [],
    { kind: "unclear", detail: "2 jobs with the same input" },
  ],
  [
    "is unclear if two jobs on different pages have the same input",
    [[prediction("a")], [prediction("b")]],
    [],
    { kind: "unclear" },
  ],
  ["ignores the job of another attempt", [[prediction("a"), prediction("b")]], ["a"], found("b")],
  ["is absent if all jobs belong to other attempts", [[prediction("a"), prediction("b")]], ["a", "b"], { kind: "absent" }],
  ["is unclear if a job without input may be the lost one", [[prediction("a", {})]], [], { kind: "unclear" }],
  ["is absent if a job without input belongs to another attempt", [[prediction("a", {})]], ["a"], { kind: "absent" }],
  ["is the job with the same input rather than a job without input", [[prediction("a", {}), prediction("b")]], [], found("b")],
  [
    "is unclear if the list has more than 100 pages",
    Array.from({ length: 140 }, () => []),
    [],
    { kind: "unclear", detail: "the list has more than 100 pages" },
    100,
  ],
];

describe("a lost submission on a list matched by input", () => {
  for (const [name, pages, owned, outcome, pagesRead = pages.length] of ROWS)
    test(name, async () => {
      using wire = openList(pages);
      expect(await openReplicate(wire.url, owned).find(lost(), never)).toMatchObject(outcome);
      expect(wire.requests.length).toBe(pagesRead);
    });

  test("is assigned to one of two attempts with the same input, never to both", async () => {
    using wire = openWire({ asked: (s) => void s.write(answerOf(200, { results: [prediction("a")], next: null })) });
    const providers = openReplicate(wire.url);
    expect(await providers.find(lost("a-1"), never)).toEqual({ kind: "found", job: { jobId: "a" } });
    expect(await providers.find(lost("b-1"), never)).toEqual({ kind: "absent" });
    expect(await providers.find(lost("a-1"), never)).toEqual({ kind: "found", job: { jobId: "a" } });
  });

  test("is not a job that was just accepted for another attempt, even before the store has it", async () => {
    using wire = openWire({
      asked: (s, request) =>
        void s.write(request.startsWith("POST") ? answerOf(201, prediction("a")) : answerOf(200, { results: [prediction("a")] })),
    });
    const providers = openReplicate(wire.url);
    const other = taskFor({ provider: "replicate", ref: "b-1" });
    other.attempt.request = providers.compose(other);
    expect((await providers.submit(other, never)).kind).toBe("accepted");
    expect(await providers.find(lost("a-1"), never)).toEqual({ kind: "absent" });
  });

  test("is unclear if all pages together exceed the deadline", async () => {
    // Each single page would be within the deadline.
    using wire = openWire({
      asked: (s) => void setTimeout(() => s.write(answerOf(200, { results: [], next: `${wire.url}/predictions?cursor=1` })), 100),
    });
    const outcome = await openReplicate(wire.url, [], 250).find(lost(), never);
    expect(outcome).toMatchObject({ kind: "unclear", detail: expect.stringContaining("no whole answer") });
    expect(wire.requests.length).toBeLessThanOrEqual(3);
  });
});

describe("a lost submission on a list with references", () => {
  const openFal = (base_url: string, isOwned: (id: string, jobId: string) => Promise<boolean>) =>
    createProviders({ settings: { fal: { base_url, key: "s3cr3t-0123456789" } }, isOwned });
  const item = (request_id: string, end_user_id: string) => ({
    request_id,
    json_input: { prompt: "p", end_user_id },
    sent_at: null,
  });

  test("is found by its reference on the first page, with its URLs, without reading further pages", async () => {
    using wire = openWire({
      asked: (s) =>
        void s.write(answerOf(200, { items: [item("x", "other-1"), item("a", "a-1")], has_more: true, next_cursor: "Mg==" })),
    });
    const providers = openFal(wire.url, () => Promise.resolve(true));
    const request = `${wire.url}/bytedance/seedance-2.0/requests/a`;
    expect(await providers.find(taskFor({ ref: "a-1" }), never)).toEqual({
      kind: "found",
      job: { jobId: "a", urls: { poll: `${request}/status`, result: request, cancel: `${request}/cancel` } },
    });
    expect(wire.requests.length).toBe(1);
  });

  test("is absent if no page has its reference", async () => {
    let asked = 0;
    using wire = openWire({
      asked: (s) =>
        void s.write(answerOf(200, { items: [item(`x${++asked}`, "other-1")], has_more: asked < 3, next_cursor: String(asked) })),
    });
    expect(await openFal(wire.url, () => Promise.resolve(false)).find(taskFor({ ref: "a-1" }), never)).toEqual({
      kind: "absent",
    });
    expect(wire.requests.map((request) => /cursor=(\d)/.exec(request)?.[1])).toEqual([undefined, "1", "2"]);
  });
});
