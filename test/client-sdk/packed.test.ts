// The published client package: current types, its files, and programs of a user that run on Node and Bun and type-check.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

const ROOT = resolve(import.meta.dir, "../..");
const CLIENT = join(ROOT, "client");
const TYPES = join(CLIENT, "src/api.ts");

let harness: Harness;
/** A user's directory with the packed package in its node_modules. */
const place = freshDir();
const installed = join(place, "node_modules/@genrouter/client");

const run = async (command: string[], cwd: string, env: Record<string, string> = {}) => {
  const child = Bun.spawn(command, { cwd, env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
};

beforeAll(async () => {
  harness = await openHarness();
  const packed = await run(["npm", "pack", "--silent", "--pack-destination", place], CLIENT);
  if (packed.code !== 0) throw new Error(packed.err);
  mkdirSync(installed, { recursive: true });
  const archive = readdirSync(place).find((name) => name.endsWith(".tgz")) ?? "";
  const unpacked = await run(["tar", "xzf", join(place, archive), "--strip-components=1"], installed);
  if (unpacked.code !== 0) throw new Error(unpacked.err);
  writeFileSync(join(place, "package.json"), '{"type":"module"}');
}, 60_000);
afterAll(async () => {
  await harness.close();
  dropDirs();
});

test("the committed types match openapi.json (UPDATE=1 rewrites them)", async () => {
  const generator = join(CLIENT, "node_modules/openapi-typescript/bin/cli.js");
  const made = join(freshDir(), "api.ts");
  const { code, err } = await run(
    ["node", generator, join(ROOT, "openapi.json"), "-o", made, "--default-non-nullable=false"],
    CLIENT,
  );
  expect([code, err]).toEqual([0, ""]);
  const current = readFileSync(made, "utf8");
  if (process.env.UPDATE === "1") writeFileSync(TYPES, current);
  else expect(readFileSync(TYPES, "utf8")).toBe(current);
}, 60_000);

test("the package contains its modules, their types, a README and a licence, and has no dependencies", () => {
  const files = [...new Bun.Glob("**/*").scanSync(installed)].sort();
  const modules = [
    ...[
      "api",
      "client",
      "destinations",
      "end-users",
      "errors",
      "events",
      "extensions",
      "files",
      "part-files",
      "reading",
      "request",
      "uploads",
    ],
  ].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
  expect(files).toEqual(["LICENSE", "README.md", ...modules, "package.json"].sort());
  const about = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect(about).toMatchObject({ name: "@genrouter/client", version: "0.1.0", license: "MIT", type: "module" });
  expect([about.dependencies, about.peerDependencies]).toEqual([undefined, undefined]);
  for (const name of modules.filter((each) => each.endsWith(".js")))
    expect(readFileSync(join(installed, name), "utf8")).not.toMatch(/"\.[^"]+\.ts"|bun:|\bBun\./);
});

const quickStart = (): string => {
  const page = readFileSync(join(CLIENT, "README.md"), "utf8");
  return /```ts quick-start\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
};
/** Compiles a directory with the current version of the compiler and the one before it. */
const compile = async (dir: string): Promise<void> => {
  for (const compiler of [ROOT, CLIENT]) {
    const { code, out } = await run(["node", join(compiler, "node_modules/typescript/bin/tsc"), "-p", "."], dir);
    expect([compiler, out, code]).toEqual([compiler, "", 0]);
  }
};

test.each(["node", process.execPath])(
  "the quick start of the client's README runs unchanged on %s",
  async (runtime) => {
    const dir = join(place, runtime === "node" ? "on-node" : "on-bun");
    mkdirSync(dir);
    writeFileSync(join(dir, "start.mjs"), quickStart());
    const ran = await run([runtime, "start.mjs"], dir, { GENROUTER_URL: harness.url, GENROUTER_API_KEY: harness.tenant.key });
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect(ran.out).toMatch(/charged \$0\.20/);
    expect(readdirSync(dir).sort()).toEqual(["kite.mp4", "start.mjs"]);
  },
  60_000,
);

test("the client's types accept valid calls and error codes, and reject unknown fields and codes", async () => {
  writeFileSync(
    join(place, "typed.ts"),
    `import { createClient, GenerationFailed, GenrouterError, type Generation } from "@genrouter/client";
const client = createClient({ url: "https://api.example.org", key: "k" });
export const work = async (): Promise<number> => {
  try {
    const { generation, files } = await client.generate({ model: "m", input: { prompt: "x", duration: 4 }, maxCostUsd: 1 }, { to: "x.mp4" });
    const first: string | undefined = files[0]?.path;
    const at: string = generation.output.urls[0] ?? first ?? "";
    return generation.cost_usd + at.length;
  } catch (fault) {
    if (fault instanceof GenrouterError && fault.code === "insufficient_credits") return fault.retryAfterS ?? 0;
    if (fault instanceof GenerationFailed && fault.code === "timed_out") return fault.generation.attempts;
    // @ts-expect-error a code that there is not
    if (fault instanceof GenrouterError && fault.code === "no_such_code") return 1;
    throw fault;
  }
};
const shown = (generation: Generation): string[] => {
  // @ts-expect-error null until it has succeeded
  const early = generation.output.urls;
  return generation.output?.urls ?? early;
};
// @ts-expect-error a field that no model takes
void client.submit({ model: "m", input: { prompt: "x", colour: "red" } });
// @ts-expect-error the input is missing
void client.submit({ model: "m" });
void shown;
`,
  );
  const options = { module: "NodeNext", target: "ES2023", lib: ["ES2023", "DOM"], strict: true, noEmit: true, types: [] };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["typed.ts"] }));
  await compile(place);
}, 60_000);

test("the programs of the client's README and of the guides compile in strict mode", async () => {
  const dir = join(place, "strict");
  mkdirSync(join(dir, "node_modules"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules/@types"), join(dir, "node_modules/@types"));
  const guides = ["quick-start", "waiting"].flatMap((guide) => {
    const page = readFileSync(join(ROOT, `docs/guides/${guide}.md`), "utf8");
    return [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, program = ""]) => program);
  });
  const programs = [quickStart(), ...guides];
  expect(programs.length).toBeGreaterThan(2);
  for (const [n, program] of programs.entries()) writeFileSync(join(dir, `program-${n}.ts`), program);
  const options = { module: "NodeNext", target: "ES2023", strict: true, noEmit: true, skipLibCheck: true, types: ["node"] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  await compile(dir);
}, 60_000);
