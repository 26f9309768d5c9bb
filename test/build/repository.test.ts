// Files of the repository: the patterns of .gitattributes match, and the workflow and the issue forms are valid and safe.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob, YAML } from "bun";

const root = join(import.meta.dir, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const attributes = read(".gitattributes")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split(" "));
const marked = (mark: string) => attributes.filter((words) => words.includes(mark)).map(([pattern = ""]) => pattern);

test("every pattern of .gitattributes matches a file", () => {
  expect(attributes.length).toBeGreaterThan(10);
  const lacking = attributes.filter(([pattern = ""]) => [...new Glob(pattern).scanSync({ cwd: root })].length === 0);
  expect(lacking).toEqual([]);
});

test(".gitattributes marks the generated and the vendored files", () => {
  const generated = ["openapi.json", "client/src/api.ts", "package-lock.json", "docs/pages/*.webp"];
  expect(marked("linguist-generated")).toEqual(expect.arrayContaining(generated));
  const scripts = [...new Glob("src/**/*.gz").scanSync({ cwd: root })];
  expect(scripts.length).toBeGreaterThan(0);
  expect(marked("linguist-vendored")).toEqual(expect.arrayContaining(scripts));
});

type Workflow = {
  permissions: Record<string, string>;
  jobs: Record<string, { "timeout-minutes": number; steps: { uses?: string; run?: string; with?: Record<string, unknown> }[] }>;
};

test("the workflow runs .ci/run with read permissions, and pins each action to a commit", () => {
  const { permissions, jobs } = YAML.parse(read(".github/workflows/ci.yml")) as Workflow;
  expect(permissions).toEqual({ contents: "read" });
  for (const job of Object.values(jobs)) expect(job["timeout-minutes"]).toBeGreaterThan(25);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.flatMap(({ run }) => run ?? []);
  expect(commands).toContain(".ci/run");
  for (const path of commands.flatMap((command) => command.match(/\.ci\/\w+/g) ?? []))
    expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  const actions = steps.flatMap(({ uses }) => uses ?? []);
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  expect(actions).toHaveLength(2);
});

test("each issue form has a name, a description and fields with unique ids and labels", () => {
  const forms = [...new Glob("*.yml").scanSync({ cwd: join(root, ".github/ISSUE_TEMPLATE"), dot: true })].filter(
    (name) => name !== "config.yml",
  );
  expect(forms.length).toBeGreaterThan(1);
  for (const name of forms) {
    const form = YAML.parse(read(`.github/ISSUE_TEMPLATE/${name}`)) as {
      name: string;
      description: string;
      body: { type: string; id?: string; attributes: { label?: string; value?: string } }[];
    };
    expect([form.name, form.description]).toEqual([expect.stringMatching(/\w/), expect.stringMatching(/\w/)]);
    const fields = form.body.filter(({ type }) => type !== "markdown");
    expect(fields.every(({ id, attributes }) => id !== undefined && attributes.label !== undefined)).toBe(true);
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  }
});
