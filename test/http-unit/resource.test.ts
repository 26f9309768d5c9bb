// Tests of the generation resource (§2.1, §2.2): every state conforms to the schema of the API.
import { describe, expect, test } from "bun:test";
import { FormatRegistry } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import type { GenerationRecord, Output } from "../../src/domain/types.ts";
import { resourceJson, usd } from "../../src/http/resource.ts";
import { Generation } from "../../src/http/schema.ts";

FormatRegistry.Set("uri", (text) => URL.canParse(text));
FormatRegistry.Set("date-time", (text) => new Date(text).toISOString() === text);

const REQUIRED = "id object model status output quoted_usd cost_usd attempts error created_at completed_at".split(" ");
const record = (more: Partial<GenerationRecord> = {}): GenerationRecord => ({
  seq: 7,
  id: "gen_00000000007abcdefghjk",
  accountSeq: 1,
  requestId: "req_1",
  model: "vidmodel-2.0",
  status: "queued",
  message: null,
  quotedCredits: 29,
  reservedCredits: 45,
  costCredits: null,
  attempts: 0,
  error: null,
  output: null,
  createdAtMs: Date.UTC(2026, 9, 19, 12),
  completedAtMs: null,
  filesExpiredAtMs: null,
  erasedAtMs: null,
  labels: null,
  ...more,
});
const linkTo = (id: string, n: number) => `https://api.example.org/files/${id}/${n}?sig=x`;
const resource = (more: Partial<GenerationRecord> = {}) =>
  JSON.parse(resourceJson(record(more), linkTo)) as Record<string, unknown>;
const files = (count: number, mime: string) =>
  Array.from({ length: count }, (_, i) => ({ n: i + 1, sha256: "00", bytes: 10, mime }));
const video: Output = { kind: "video", files: files(1, "video/mp4"), width: 864, height: 496, durationMs: 4040, hasAudio: false };
const ended = (more: Partial<GenerationRecord>): Partial<GenerationRecord> => ({
  completedAtMs: Date.UTC(2026, 9, 19, 12, 0, 9, 5),
  attempts: 2,
  ...more,
});

const SHAPES: [name: string, more: Partial<GenerationRecord>, has: object, hasNot: string[]][] = [
  [
    "queued",
    {},
    {
      status: "queued",
      output: null,
      quoted_usd: 0.29,
      reserved_usd: 0.45,
      cost_usd: null,
      attempts: 0,
      error: null,
      completed_at: null,
    },
    ["message"],
  ],
  ["running", { status: "running", attempts: 1 }, { status: "running", reserved_usd: 0.45, cost_usd: null }, ["message"]],
  [
    "running while a result is being confirmed",
    { status: "running", attempts: 1, message: 'Confirming the result with the provider. "x"' },
    { message: 'Confirming the result with the provider. "x"' },
    [],
  ],
  [
    "succeeded with a video",
    ended({ status: "succeeded", costCredits: 22, output: video }),
    {
      status: "succeeded",
      reserved_usd: null,
      cost_usd: 0.22,
      error: null,
      completed_at: "2026-10-19T12:00:09.005Z",
      output: { urls: [linkTo(record().id, 1)], width: 864, height: 496, duration_s: 4.04, has_audio: false },
    },
    ["message"],
  ],
  [
    "succeeded with three images",
    ended({ status: "succeeded", costCredits: 9, output: { kind: "image", files: files(3, "image/png"), width: 8, height: 9 } }),
    { output: { urls: [1, 2, 3].map((n) => linkTo(record().id, n)), width: 8, height: 9 } },
    [],
  ],
  [
    "succeeded with sound",
    ended({ status: "succeeded", costCredits: 9, output: { kind: "audio", files: files(1, "audio/mpeg"), durationMs: 900 } }),
    { output: { urls: [linkTo(record().id, 1)] } },
    [],
  ],
  [
    "succeeded after it had a message",
    ended({ status: "succeeded", costCredits: 22, output: video, message: "Confirming" }),
    {},
    ["message"],
  ],
  [
    "failed",
    ended({ status: "failed", costCredits: 0, error: { code: "provider_failed", message: "Every route failed." } }),
    { cost_usd: 0, reserved_usd: null, output: null, error: { code: "provider_failed", message: "Every route failed." } },
    ["message"],
  ],
];

describe("the resource of a generation", () => {
  test.each(SHAPES)('in the state "%s" has the specified fields and conforms to the schema', (_name, more, has, hasNot) => {
    const made = resource(more);
    expect(made).toMatchObject(has);
    if ("output" in has) expect(made.output).toEqual(has.output);
    for (const name of hasNot) expect(made).not.toHaveProperty(name);
    for (const name of REQUIRED) expect(made).toHaveProperty(name);
    expect([...Value.Errors(Generation, made)].map(({ path, message }) => `${path} ${message}`)).toEqual([]);
  });
});

test("prints every number of credits up to 10,000 USD with at most two decimals, without loss", () => {
  for (let credits = 0; credits <= 1_000_000; credits++) {
    const printed = String(usd(credits));
    if (!/^\d+(\.\d{1,2})?$/.test(printed) || Math.round(Number(printed) * 100) !== credits) throw new Error(printed);
  }
});

test("preserves any model name, message and error message in its JSON", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (model, message) => {
      const running = resource({ model, message, status: "running" });
      expect([running.model, running.message]).toEqual([model, message]);
      const failed = resource(ended({ status: "failed", costCredits: 0, error: { code: "timed_out", message } }));
      expect(failed.error).toEqual({ code: "timed_out", message });
    }),
    { numRuns: 300, seed: 2026 },
  );
});
