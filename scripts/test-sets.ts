// Divides the test files into two sets by their need of a browser, PostgreSQL, crashes or much CPU time.
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "..");

/**
 * The needs of a test file are those of its imports, direct or through other modules of test/. The modules start Chromium, start
 * a PostgreSQL server, kill a loaded service repeatedly, or select a part of many expensive cases of one kind. Files of the last
 * two kinds need no other program, but take a quarter of the CPU time of all tests.
 */
export const NEEDS = {
  browser: ["test/browser/chromium.ts"],
  postgres: ["test/postgres/server.ts"],
  crashes: ["src/torture/crash/random.ts", "src/cli/commands/torture.ts"],
  cases: ["test/case-share.ts"],
} as const satisfies Record<string, readonly string[]>;
const MODULES: readonly string[] = Object.values(NEEDS).flat();
export type Need = keyof typeof NEEDS;

/** `quick`: run by `npm test`. `rest`: run by `npm run test:rest`. */
export type TestSet = "quick" | "rest";
/** Variable that names the set to the tests, so that neither server can start in the quick set. */
export const SET_VARIABLE = "TEST_SET";

const transpiler = new Bun.Transpiler({ loader: "ts" });
const imports = new Map<string, string[]>();
/**
 * Modules of test/ that are loaded together with a module. A dynamic `import()` is excluded, because it loads only when it is
 * reached.
 */
const importsOf = (path: string): string[] => {
  const known = imports.get(path);
  if (known) return known;
  const found = transpiler
    .scanImports(readFileSync(join(root, path), "utf8"))
    .filter((each) => each.kind !== "dynamic-import" && each.path.startsWith("."))
    .map((each) => relative(root, resolve(root, path, "..", each.path)).replaceAll("\\", "/"))
    .filter((each) => /^test\/.*\.ts$/.test(each) || MODULES.includes(each));
  imports.set(path, found);
  return found;
};

/**
 * Files without such a module that take 4 s of CPU time or more and test a command, a document, a bucket or a whole service from
 * outside.
 * Files about the core stay in the quick set, however long they take.
 */
export const LONG_FILES: readonly string[] = [
  "test/api/idle-waiting.test.ts",
  "test/archive/bucket.test.ts",
  "test/backup/create.test.ts",
  "test/backup/load.test.ts",
  "test/backup/nightly.test.ts",
  "test/backup/restore.test.ts",
  "test/billing/rounds.test.ts",
  "test/build/binary.test.ts",
  "test/capacity/capacity.test.ts",
  "test/cli/archive-bucket.test.ts",
  "test/cli/catalogue.test.ts",
  "test/cli/client.test.ts",
  "test/cli/doctor.test.ts",
  "test/cli/healthcheck.test.ts",
  "test/cli/key-terms.test.ts",
  "test/cli/live-upload.test.ts",
  "test/cli/providers.test.ts",
  "test/cli/reload.test.ts",
  "test/cli/route-test.test.ts",
  "test/cli/service.test.ts",
  "test/client-sdk/generate.test.ts",
  "test/client-sdk/generated.test.ts",
  "test/client-sdk/packed.test.ts",
  "test/client-sdk/python.test.ts",
  "test/corpus/prices.test.ts",
  "test/deliveries/deliveries.test.ts",
  "test/docs/examples.test.ts",
  "test/docs/followed-recipes.test.ts",
  "test/docs/guides.test.ts",
  "test/docs/readme.test.ts",
  "test/docs/walkthrough.test.ts",
  "test/files/s3/background-uploader.test.ts",
  "test/files/s3/process.test.ts",
  "test/fuzz/schemathesis.test.ts",
  "test/files/s3/shared-unavailable.test.ts",
  "test/flags.test.ts",
  "test/former-releases/sqlite.test.ts",
  "test/hardening/parallel-downloads.test.ts",
  "test/hardening/poll-lag.test.ts",
  "test/hardening/poll-outage.test.ts",
  "test/hardening/unknown-poll.test.ts",
  "test/machine/cancel.test.ts",
  "test/media/sandbox/child-pool.test.ts",
  "test/providers/dialects/mutants.test.ts",
  "test/quote/input-schema.test.ts",
  "test/regressions/bucket-outage-events.test.ts",
  "test/regressions/delivery-check.test.ts",
  "test/regressions/generate-option-validation.test.ts",
  "test/regressions/output-to-fifo-or-link.test.ts",
  "test/regressions/provider-large-inline-result.test.ts",
  "test/regressions/result-format-conversion.test.ts",
  "test/regressions/result-unusable.test.ts",
  "test/regressions/start-exit-codes.test.ts",
  "test/security/canary.test.ts",
  "test/stall/stall.test.ts",
  "test/store/upgrade.test.ts",
  "test/telemetry/deploy.test.ts",
  "test/telemetry/traces.test.ts",
  "test/webhooks/delivery.test.ts",
];

/** Needs of a test file, from all modules that it loads. */
export const needsOf = (file: string): Need[] => {
  const reached = new Set([file]);
  for (const path of reached) if (path.startsWith("test/")) for (const next of importsOf(path)) reached.add(next);
  return (Object.keys(NEEDS) as Need[]).filter((need) => NEEDS[need].some((path) => reached.has(path)));
};

export const setOf = (file: string): TestSet => (needsOf(file).length > 0 || LONG_FILES.includes(file) ? "rest" : "quick");

/** Every test file, sorted. */
export const testFiles = (): string[] =>
  [...new Glob("test/**/*.test.{ts,tsx}").scanSync({ cwd: root })].map((path) => path.replaceAll("\\", "/")).sort();

/**
 * @throws in the quick set, for a test that uses a need that its static imports do not show: by `import()`, or by a child
 * process.
 */
export const refuseInQuickSet = (what: string): void => {
  if (process.env[SET_VARIABLE] === ("quick" satisfies TestSet))
    throw new Error(
      `${what} is started in \`npm test\`: import ${[...NEEDS.browser, ...NEEDS.postgres].join(" or ")} where the test file loads it`,
    );
};
