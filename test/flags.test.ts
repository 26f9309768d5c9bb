// The test programs reject invalid flags in one line, and fuzz removes its directory when a signal stops it.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropScratch } from "./scratch.ts";

const home = mkdtempSync(join(tmpdir(), "flags-"));
afterAll(() => dropScratch(home));

const start = (program: string, words: readonly string[], TMPDIR = home) =>
  Bun.spawn([process.execPath, join(import.meta.dir, program, "main.ts"), ...words], {
    env: { ...process.env, TMPDIR },
    stdout: "pipe",
    stderr: "pipe",
  });

test.each([
  ["mutants", "--unheard", "Unknown option '--unheard'"],
  ["properties", "--unheard", "Unknown option '--unheard'"],
  ["fuzz", "--unheard", "Unknown option '--unheard'"],
  ["soak", "--unheard", "Unknown option '--unheard'"],
  ["cluster", "--unheard", "Unknown option '--unheard'"],
  ["cluster", "--cycles 0", '--cycles: "0" is not a whole number of at least 1'],
  ["cluster", "--only points", '--only: "points" is neither rounds nor control'],
  ["mutants", "--jobs 0", '--jobs: "0" is not a whole number of at least 1'],
  ["properties", "--runs -1x", "Option '--runs' argument is ambiguous"],
  ["properties", "--runs 0", '--runs: "0" is not a whole number of at least 1'],
  ["fuzz", "--cases x", '--cases: "x" is not a whole number of at least 1'],
  ["soak", "--clients 0", '--clients: "0" is not a whole number of at least 1'],
  ["soak", "--minutes 0.05", "--minutes: 0.05 is too short to measure anything; the least is 1"],
])("%s %s exits with 2 and one line that names the fault", async (program, words, why) => {
  const child = start(program, words.split(" "));
  const [said, complaint, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect([code, said, complaint]).toEqual([2, "", `${why}; see --help\n`]);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "fuzz removes its directory when %s stops it",
  async (signal) => {
    const dir = mkdtempSync(join(home, "stopped-"));
    const child = start("fuzz", ["--cases", "1000000"], dir);
    let said = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      said += decoder.decode(chunk);
      // One case has finished, so the service uses its directory.
      if (!said.includes("(pass) regression") || child.killed) continue;
      expect(readdirSync(dir)).not.toEqual([]);
      child.kill(signal);
    }
    expect(await child.exited).toBe(signal === "SIGINT" ? 130 : 143);
    expect(readdirSync(dir)).toEqual([]);
  },
  30_000,
);
