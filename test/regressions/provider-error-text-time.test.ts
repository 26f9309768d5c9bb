// Error texts of providers at the maximum response size are matched in linear time.
import { describe, expect, test } from "bun:test";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { patternOf } from "../../src/providers/dialect/patterns.ts";
import { fal } from "../../src/providers/fal.ts";
import type { Adapter } from "../../src/providers/port.ts";
import { replicate } from "../../src/providers/replicate.ts";
import { casesOfShare } from "../case-share.ts";
import { answer } from "../providers/task.ts";

const LENGTH = 1_048_576;
/** The bound for one response. The former patterns took two minutes for one text. */
const MOST_MS = 1_500;
const dialects = readDialects(null);

/** Beginnings of the patterns, to be repeated: the worst case for an echoed prompt. */
const STARTS = [
  "external_task_id ",
  "exist uniq duplic repeat ",
  "failed to download ",
  "Output",
  "InputSensitive",
  "input was ",
  "generated content ",
  "aaaaaaaa",
  "  \t\n",
  "https://a@",
  "(1026",
  "task",
  "Path /",
];
const longWords = STARTS.map((start) => start.repeat(Math.ceil(LENGTH / start.length)).slice(0, LENGTH));

const bodyAt = (pointer: string, word: string): unknown =>
  pointer
    .slice(1)
    .split("/")
    .reduceRight<unknown>((inner, step) => (/^[\d*]/.test(step) ? [inner] : { [step.replace(/\[.*$/, "")]: inner }), word);

const JOB = { jobId: "job-1" };
const C = { ref: "0k3v9x2m-1", endpoint: "a/b", options: {}, baseUrl: "https://p.example", input: { raw: {}, filled: {} } };
const readAll = (adapter: Adapter, status: number, body: unknown) => {
  const r = answer(status, body);
  adapter.readSubmit(r, C);
  try {
    adapter.readPoll(r, JOB, C);
  } catch {
    // A synchronous provider has no polls.
  }
  adapter.readResult?.(r, JOB, C);
  adapter.classOf?.(r);
};
const tookMs = (work: () => void): number => {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
};

describe("reading an error text of 1 MiB stays below the time bound", () => {
  const places: Record<string, [Adapter, string[]]> = {
    fal: [fal, ["/detail", "/detail/0/msg", "/error/message"]],
    replicate: [replicate, ["/error", "/detail", "/title"]],
    ...Object.fromEntries(
      [...dialects].map(([id, { adapter, dialect }]) => [
        id,
        [
          adapter,
          [...new Set(dialect.failures.flatMap(({ at = [] }) => [at].flat()).filter((pointer) => pointer.startsWith("/")))],
        ],
      ]),
    ),
  };
  for (const [provider, [adapter, pointers]] of casesOfShare("providers", Object.entries(places), ([provider]) => provider))
    test(`for ${provider}, at ${pointers.length} pointers`, () => {
      for (const pointer of pointers) {
        const bodies = longWords.map((word) => bodyAt(pointer, word));
        for (const status of [200, 400])
          for (const body of bodies) expect(tookMs(() => readAll(adapter, status, body))).toBeLessThan(MOST_MS);
      }
    });
});

test("each pattern of each dialect matches an uncut text of 1 MiB below the time bound", () => {
  const patterns = [...dialects].flatMap(([, { dialect }]) => dialect.failures.flatMap(({ matches }) => matches ?? []));
  expect(patterns.length).toBeGreaterThan(30);
  for (const text of new Set(patterns)) {
    const pattern = patternOf(text);
    for (const word of longWords) {
      // Quadratic matching would take minutes.
      const isQuick = tookMs(() => pattern.test(word)) < MOST_MS;
      expect([text, isQuick]).toEqual([text, true]);
    }
  }
});

test("patternOf rejects patterns that can take quadratic time", () => {
  for (const text of [
    "external.?task.?id.*(exist|uniq)|(exist|uniq).*external.?task.?id",
    "failed to (download|fetch|load)\\b.*\\b(input|image)",
    "(a+)+$",
    "^(a|a)*$",
  ])
    expect(() => patternOf(text)).toThrow(/repeats without a bound/);
});
