// Mutation tests of the dialects: one changed name in each dialect must violate its contract or fail its tests.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDialects } from "../../../src/providers/dialect/load.ts";
import { dropScratch, makeScratch } from "../../scratch.ts";
import { CASES } from "./all.ts";
import { promisesOf } from "./contract.ts";

const DIALECTS = join(import.meta.dir, "../../../catalogue/dialects");

type Change = readonly [from: string, to: string, file?: string];

/** Provider: text of its dialect file and the replacement. `volcengine` uses the file of `modelark`. */
const MUTANTS: Readonly<Record<string, Change>> = {
  bfl: ["/polling_url", "/poll_url"],
  dashscope: ['"resolution": "{input.resolution|upper}"', '"size": "{input.resolution|upper}"'],
  elevenlabs: ["@header/request-id", "@header/requestid"],
  gemini: ['"aspectRatio"', '"aspect_ratio"'],
  "gemini-video": ['"duration": "{input.duration}s"', '"seconds": "{input.duration}s"'],
  higgsfield: ["idempotency-key", "x-idempotency-key"],
  kling: ['"external_task_id": "{ref}"', '"external_id": "{ref}"'],
  luma: ['"duration": {', '"seconds": {'],
  minimax: ["/task/content/url", "/task/content/video_url"],
  "minimax-speech": ['"text"', '"prompt"'],
  modelark: ['"safety_identifier"', '"safety_id"'],
  openai: ["/data/*/b64_json", "/data/*/b64"],
  "openai-video": ['"seconds"', '"duration"'],
  pixverse: ['"quality"', '"resolution"'],
  runware: ['"taskUUID": "{ref_uuid}"', '"taskUuid": "{ref_uuid}"'],
  runway: ['"promptText"', '"prompt"'],
  stability: ['"aspect_ratio"', '"ratio"'],
  together: ["/data/*/b64_json", "/data/*/b64"],
  "together-video": ['"as": { "video": "{item}" }', '"as": { "url": "{item}" }'],
  vidu: ['"prompt"', '"text"'],
  volcengine: ['"safety_identifier"', '"safety_id"', "modelark"],
  wavespeed: ["/data/outputs", "/data/output"],
};

/** Dialects in code: text of the source and the replacement that must fail its tests. */
const CODED: Readonly<Record<string, readonly [from: string, to: string]>> = {
  fal: ["request_id: jobId", "requestid: jobId"],
  replicate: ["input: inputOf(c)", "inputs: inputOf(c)"],
};
const ROOT = join(import.meta.dir, "../../..");

const scratch = makeScratch("dialect-mutants-");
afterAll(() => dropScratch(scratch));

/** The shipped dialects with this change in one of them. */
const mutated = (provider: string, [from, to, file = provider]: Change) => {
  const text = readFileSync(join(DIALECTS, `${file}.json`), "utf8");
  if (!text.includes(from)) throw new Error(`${file}.json does not contain ${from}`);
  const dir = join(scratch, provider);
  mkdirSync(join(dir, "providers"), { recursive: true });
  writeFileSync(join(dir, "providers", `${file}.json`), text.replace(from, to));
  return readDialects(dir);
};

describe("the dialect mutation", () => {
  test("covers every dialect file", () => {
    expect(Object.keys(MUTANTS).sort()).toEqual([...readDialects(null).keys()].sort());
  });
  for (const [provider, change] of Object.entries(MUTANTS))
    test(`of ${provider}, ${change[1]} instead of ${change[0]}, violates the contract`, async () => {
      const dialects = mutated(provider, change);
      let broken: string | undefined;
      for (const one of CASES.filter((one) => one.provider === provider)) {
        const { promises, close } = promisesOf(one, dialects);
        for (const { of, name, keep } of promises)
          if (broken === undefined)
            try {
              await keep();
            } catch {
              broken = `${of} ${name}`;
            }
        await close();
      }
      expect(broken).toBeString();
    }, 60_000);

  for (const [provider, [from, to]] of Object.entries(CODED))
    test(`of ${provider}, ${to} instead of ${from}, fails its tests`, async () => {
      const path = join(ROOT, `src/providers/${provider}.ts`);
      const text = readFileSync(path, "utf8");
      expect(text.split(from).length).toBe(2);
      const contents = JSON.stringify(text.replace(from, to));
      const plant = join(scratch, `${provider}.ts`);
      // The preloaded plugin replaces the source in the child process; the source file stays unchanged.
      writeFileSync(
        plant,
        `Bun.plugin({ name: "mutant", setup: (build) => build.onLoad({ filter: /src\\/providers\\/${provider}\\.ts$/ }, () => ({ contents: ${contents}, loader: "ts" })) });`,
      );
      const run = async (...more: string[]) => {
        const child = Bun.spawn([process.execPath, "test", ...more, `test/providers/${provider}.test.ts`], {
          cwd: ROOT,
          stdout: "ignore",
          stderr: "pipe",
        });
        const said = await new Response(child.stderr).text();
        return { code: await child.exited, failed: Number(/^ *(\d+) fail$/m.exec(said)?.[1] ?? 0) };
      };
      expect(await run()).toEqual({ code: 0, failed: 0 });
      expect((await run("--preload", plant)).failed).toBeGreaterThan(0);
    }, 60_000);
});
