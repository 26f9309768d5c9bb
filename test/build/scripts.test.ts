// The npm scripts: `npm run help` has exactly one line for each script.
import { expect, test } from "bun:test";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import lines from "../../scripts/help.json" with { type: "json" };

const names = Object.keys(packageJson.scripts);

test("every npm script has one line of help of at most 120 characters", () => {
  expect(Object.keys(lines).sort()).toEqual([...names].sort());
  for (const [name, line] of Object.entries(lines))
    expect([name, line]).toEqual([name, expect.stringMatching(/^[a-z].{10,118}[^.]$/)]);
  expect(new Set(Object.values(lines)).size).toBe(names.length);
});

test("npm run help prints every script once", () => {
  const { exitCode, stdout } = Bun.spawnSync(["node", join(import.meta.dir, "../../scripts/help.mjs")]);
  expect(exitCode).toBe(0);
  const printed = [...stdout.toString().matchAll(/^ {2}(\S+) +\S.*$/gm)].map(([, name]) => name);
  expect(printed.sort()).toEqual([...names].sort());
});
