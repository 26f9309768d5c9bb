// Untrusted provider responses: adapters never throw, and the credential goes only to the provider's hosts.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FAL_BASE_URL, FAL_ORIGINS, fal } from "../../src/providers/fal.ts";
import { readJson } from "../../src/providers/http-call.ts";
import { matchInput } from "../../src/providers/list-match.ts";
import { detailOf } from "../../src/providers/parse-response.ts";
import type { Adapter, AdapterContext } from "../../src/providers/port.ts";
import { createProviderClient } from "../../src/providers/provider-client.ts";
import { REPLICATE_BASE_URL, replicate } from "../../src/providers/replicate.ts";
import { SENT_AT_MS, taskFor } from "./task.ts";

const clientFor = (adapter: Adapter, base_url?: string) =>
  createProviderClient({
    adapter,
    publicUrl: adapter === fal ? FAL_BASE_URL : REPLICATE_BASE_URL,
    origins: adapter === fal ? FAL_ORIGINS : [],
    settings: { key: "s3cr3t-0123456789", ...(base_url === undefined ? {} : { base_url }) },
    slots: { submits: 1, questions: 1, finds: 1 },
    traits: {},
    isReported: false,
    nowMs: () => SENT_AT_MS,
  });

describe("the credential may be sent to", () => {
  const PUBLIC: [adapter: Adapter, address: string, may: boolean][] = [
    [fal, "https://queue.fal.run/a/b/requests/1/status", true],
    [fal, "https://api.fal.ai/v1/models/requests/by-endpoint", true],
    [fal, "https://queue.falrun.com/a/b", true],
    [fal, "http://queue.fal.run/a/b", false],
    [fal, "https://queue.fal.run:8443/a/b", false],
    [fal, "https://queue.fal.run.evil.example/a/b", false],
    [fal, "https://evil.example/queue.fal.run", false],
    [fal, "https://user:word@queue.fal.run/a/b", false],
    [fal, "https://queue.fal.run@evil.example/a/b", false],
    [fal, "https://v3b.fal.media/files/x.mp4", false],
    [fal, "file:///etc/passwd", false],
    [fal, "/a/b", false],
    [fal, "", false],
    [replicate, "https://api.replicate.com/v1/predictions/x", true],
    [replicate, "https://replicate.delivery/x", false],
    [replicate, "https://queue.fal.run/x", false],
  ];
  for (const [adapter, address, may] of PUBLIC)
    test(`${address || "an empty URL"} of ${adapter.id}: ${may}`, () => {
      expect(clientFor(adapter).barred(address) === undefined).toBe(may);
    });

  test("only the base URL if one is configured", () => {
    const client = clientFor(fal, "http://127.0.0.1:9000/fal/");
    expect(client.baseUrl).toBe("http://127.0.0.1:9000/fal");
    expect(client.barred("http://127.0.0.1:9000/fal/a/b")).toBeUndefined();
    for (const address of [
      "http://127.0.0.1:9001/fal",
      "http://localhost:9000/fal",
      "https://queue.fal.run/a",
      "https://api.fal.ai/v1",
    ])
      expect(client.barred(address)).toBeDefined();
  });
});

/** Almost valid JSON: the members and values that providers use, in any combination. */
const nearly = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      1e308,
      "",
      "job-1",
      "COMPLETED",
      "succeeded",
      "failed",
      "https://a.example/x?y=z",
      "2026-11-21T10:00:00Z",
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...[
          "id",
          "request_id",
          "status",
          "detail",
          "type",
          "msg",
          "error",
          "error_type",
          "video",
          "images",
          "url",
          "output",
          "__proto__",
        ],
        ...[
          "items",
          "results",
          "input",
          "json_input",
          "next",
          "next_cursor",
          "has_more",
          "created_at",
          "sent_at",
          "data_removed",
        ],
      ),
      tie("value"),
      { maxKeys: 6 },
    ),
  ),
}));

test("no response makes an adapter throw, and a 5xx never counts as a rejection", () => {
  const statuses = fc.constantFrom(200, 201, 202, 204, 302, 400, 401, 404, 409, 422, 429, 500, 503, 504);
  const headers = fc.dictionary(fc.constantFrom("retry-after", "date", "x-fal-error-type"), fc.string());
  fc.assert(
    fc.property(fc.constantFrom(fal, replicate), statuses, headers, nearly.value, (adapter, status, heads, value) => {
      const { attempt, input } = taskFor({ provider: adapter === fal ? "fal" : "replicate" });
      const { ref } = attempt;
      const { endpoint, options } = attempt.route;
      const c: AdapterContext = { ref, endpoint, options, baseUrl: "http://127.0.0.1:9", input };
      const text = JSON.stringify(value);
      const r = { status, headers: heads, text, json: readJson(text) };
      const outcomes = [
        adapter.readPoll(r, { jobId: "job-1" }, c),
        adapter.readResult?.(r, { jobId: "job-1" }, c),
        adapter.readFindPage?.(r, c, SENT_AT_MS, null),
      ];
      for (const outcome of outcomes) {
        const detail = outcome && ("detail" in outcome ? outcome.detail : "failure" in outcome ? outcome.failure.detail : "");
        expect(detail?.length ?? 0).toBeLessThanOrEqual(200);
        expect(detail ?? "").not.toContain("y=z");
      }
      const submitted = adapter.readSubmit(r, c);
      if (submitted.kind === "rejected") expect(status).toBeWithin(400, 430);
      if (submitted.kind === "accepted") expect(status).toBeWithin(200, 300);
    }),
    { seed: 20261121, numRuns: 3_000 },
  );
});

describe("an error detail is one short line without queries or user info:", () => {
  for (const [text, detail] of [
    ["see https://a.example/x?sig=abc#d now", "see https://a.example/x now"],
    ["https://user:word@a.example/x", "https://a.example/x"],
    ["two\nlines\tand \u0000 more", "two lines and more"],
    ["x".repeat(500), `${"x".repeat(199)}…`],
  ] as const)
    test(JSON.stringify(text.slice(0, 40)), () => {
      expect(detailOf(text)).toBe(detail);
    });
});

describe("matchInput compares", () => {
  for (const [sent, listed, match] of [
    [{ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, "equal"],
    [{ a: 1 }, { a: 1, d: 2 }, "possible"],
    [{ a: 1, d: 2 }, { a: 1 }, "possible"],
    [{ a: 1 }, {}, "possible"],
    [{ a: 1 }, null, "possible"],
    [{ a: 1 }, "erased", "possible"],
    [{ a: 1 }, [1], "possible"],
    [{ a: 1 }, { a: "1" }, "no"],
    [{ a: [1, 2] }, { a: [2, 1] }, "no"],
    [{ a: 1, b: 2 }, { a: 1, b: 3 }, "no"],
  ] as const)
    test(`${JSON.stringify(sent)} and ${JSON.stringify(listed)}: ${match}`, () => {
      expect(matchInput(JSON.parse(JSON.stringify(sent)), listed)).toBe(match);
    });
});
