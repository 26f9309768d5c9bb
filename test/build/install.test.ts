// Installation of the locked packages: once per lock file, without install scripts, and only production packages for `npm start`.
import { afterAll, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { dropScratch, makeScratch } from "../scratch.ts";

const root = join(import.meta.dir, "../..");
const checkout = makeScratch("gr-install-");
afterAll(() => dropScratch(checkout));

const calls = join(checkout, "calls");
const lock = join(checkout, "package-lock.json");

/** Makes a checkout whose `npm` records its arguments and installs this runtime as the package of every platform. */
const prepare = (): void => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: object };
  const runtimes = Object.keys(packages).filter((path) => path.startsWith("node_modules/@oven/"));
  expect(runtimes.length).toBeGreaterThan(5);
  mkdirSync(join(checkout, "scripts"));
  mkdirSync(join(checkout, "path"));
  copyFileSync(join(root, "scripts/bun.mjs"), join(checkout, "scripts/bun.mjs"));
  writeFileSync(lock, "{}");
  const npm = join(checkout, "path/npm");
  writeFileSync(
    npm,
    `#!/bin/sh
echo "$@" >> "${calls}"
rm -rf node_modules
for path in ${runtimes.join(" ")}; do mkdir -p "$path/bin"; ln -s "${process.execPath}" "$path/bin/bun"; done
`,
  );
  chmodSync(npm, 0o755);
};

/** @returns the arguments of each call of `npm` during the run. */
const run = (...words: string[]): string[] => {
  const before = existsSync(calls) ? readFileSync(calls, "utf8").split("\n").length - 1 : 0;
  const { exitCode, stdout, stderr } = Bun.spawnSync(["node", "scripts/bun.mjs", ...words, "--version"], {
    cwd: checkout,
    env: { PATH: `${join(checkout, "path")}:${process.env.PATH ?? ""}` },
  });
  expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([0, `${Bun.version}\n`, expect.any(String)]);
  return existsSync(calls) ? readFileSync(calls, "utf8").trimEnd().split("\n").slice(before) : [];
};

const PRODUCTION = ["ci --ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error"];
const ALL = ["ci --ignore-scripts --no-audit --no-fund --loglevel=error"];

test("bun.mjs installs packages once per lock file, without install scripts, and development packages only without --production", () => {
  prepare();
  expect(run("--production")).toEqual(PRODUCTION);
  expect(run("--production")).toEqual([]);
  expect(run()).toEqual(ALL);
  expect(run("--production")).toEqual([]);
  writeFileSync(lock, '{"lockfileVersion":3}');
  expect(run("--production")).toEqual(PRODUCTION);
});

test("the npm scripts that run the service install production packages only", () => {
  for (const name of ["start", "genrouter"] as const)
    expect(packageJson.scripts[name]).toMatch(/^node scripts\/bun\.mjs --production (?:--at-caller )?src\/main\.ts/);
});

test("a command that npm runs from another directory writes a relative path there, not in the repository", () => {
  const place = makeScratch("gr-caller-");
  const { exitCode, stderr } = Bun.spawnSync(
    ["npm", "--prefix", root, "run", "-s", "genrouter", "--", "statechart", "diagram", "generation", "-o", "chart.mmd"],
    { cwd: place, env: { PATH: process.env.PATH ?? "", HOME: place } },
  );
  expect([exitCode, stderr.toString(), existsSync(join(root, "chart.mmd"))]).toEqual([0, expect.any(String), false]);
  expect(readFileSync(join(place, "chart.mmd"), "utf8")).not.toBe("");
  dropScratch(place);
});
