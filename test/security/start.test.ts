// Live start with BUN_CONFIG_VERBOSE_FETCH, which prints credentials: exit code 78, nothing written.

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM } from "../built.ts";
import { dropScratch } from "../scratch.ts";

const KEY = "provider-canary-0b7e";
const dirs: string[] = [];
afterAll(() => {
  for (const dir of dirs) dropScratch(dir);
});

/** Starts the program and reads its output until it exits or listens. */
const start = async (env: Record<string, string>, ...words: string[]) => {
  const dir = mkdtempSync(join(tmpdir(), "start-"));
  dirs.push(dir);
  const data = join(dir, "data");
  const child = Bun.spawn([...PROGRAM, "serve", "--port", "0", "--data", data, ...words], {
    env: { PATH: process.env.PATH ?? "", GENROUTER_PROVIDERS__FAL__KEY: KEY, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let out = "";
  let isStopped = false;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    out += decoder.decode(chunk, { stream: true });
    if (!isStopped && /^url /m.test(out)) {
      isStopped = true;
      child.kill("SIGTERM");
    }
  }
  return {
    exit: await child.exited,
    out,
    err: await new Response(child.stderr).text(),
    written: existsSync(data) ? readdirSync(data) : [],
  };
};

test.each(["curl", "true", "1"])(
  "BUN_CONFIG_VERBOSE_FETCH=%s ends a live start with 78 before it opens anything",
  async (value) => {
    const { exit, out, err, written } = await start({ BUN_CONFIG_VERBOSE_FETCH: value });
    expect([exit, out, written]).toEqual([78, "", []]);
    expect(err).toMatch(/^error: BUN_CONFIG_VERBOSE_FETCH is set: .*credentials.*unset it.*\n$/);
    expect(err).not.toContain(KEY);
  },
);

const LISTENS: [what: string, env: Record<string, string>, words: string[]][] = [
  ["a live start without BUN_CONFIG_VERBOSE_FETCH listens", {}, []],
  [
    "a start with the simulator ignores BUN_CONFIG_VERBOSE_FETCH and prints no request",
    { BUN_CONFIG_VERBOSE_FETCH: "curl" },
    ["--simulate"],
  ],
];
test.each(LISTENS)(
  "%s",
  async (_what, env, words) => {
    const { exit, out, err } = await start(env, ...words);
    expect([exit, out]).toEqual([0, expect.stringMatching(/^url http/m)]);
    expect(out + err).not.toMatch(/provider-canary|\[fetch\]|curl --http/);
  },
  60_000,
);
