// The recipes for contributors work: a copy of the sources after all of them were followed has correct types and new behaviour.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CatalogueError, loadCatalogue } from "../../catalogue/load.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

const root = resolve(import.meta.dir, "../..");
const FOLDER = "docs/contributing";
const read = (path: string): string => readFileSync(join(root, path), "utf8");

type Block = { code: string } & ({ file: string; where: "after" | "before" | "instead"; words: string } | { created: string });
/** Code blocks of a recipe: a new file, or an addition at a place of a file. */
const blocksOf = (page: string): Block[] =>
  [...read(page).matchAll(/^( *)```\w+ (?:new=(\S+)|file=(\S+) (after|before|instead)="([^"]+)")\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", created, file = "", where = "", words = "", text = ""]) => {
      const code = text.slice(indent.length).replaceAll(`\n${indent}`, "\n");
      return created === undefined ? { code, file, where: where as "after" | "before" | "instead", words } : { code, created };
    },
  );

/** Adds the blocks of a recipe to a copy of the sources. @returns the number of blocks */
const follow = (page: string, copy: string): number => {
  const blocks = blocksOf(page);
  for (const block of blocks) {
    if ("created" in block) {
      const path = join(copy, block.created);
      if (existsSync(path)) throw new Error(`${page}: ${block.created} exists`);
      writeFileSync(path, block.code);
      continue;
    }
    const { file, where, words, code } = block;
    const path = join(copy, file);
    const text = readFileSync(path, "utf8");
    // The file may break lines in other places than the page.
    const pattern = words.split(" ").map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const found = new RegExp(pattern.join("\\s+")).exec(text);
    if (!found) throw new Error(`${page}: ${file} has no ${words}`);
    const end = found.index + found[0].length;
    const [from, to] = { after: [end, end], before: [found.index, found.index], instead: [found.index, end] }[where];
    writeFileSync(path, `${text.slice(0, from)}${where === "after" ? "\n" : ""}${code}${text.slice(to)}`);
  }
  return blocks.length;
};

/** Recipes with code blocks, and how many. The recipe for a route has data instead, which a test below adds to a model file. */
const BLOCKS: Readonly<Record<string, number>> = {
  setting: 1,
  "log-event": 2,
  metric: 3,
  migration: 6,
  mutation: 5,
  "console-page": 10,
};
/** Tests that the recipes add, or extend by the test with this title. */
const ADDED_TESTS = ["test/api/tasks.test.ts", "test/console/orphan-totals.test.ts"];
const MUTATION_TEST = "renames an account, and rejects an unknown one";

describe("a copy of the sources after the recipes were followed", () => {
  const copy = makeScratch("recipes-");
  const former = makeScratch("recipes-directory-");
  const COPIED = [
    ...["src", "actors", "catalogue", "client/src", "web", "docs/reference.md", "docs/guides", "scripts", "test", "package.json"],
    ...["tsconfig.json", "deploy"],
  ];
  let reference = "";
  /** Runs a program in the copy. @returns its output, if it fails */
  const faultsOf = async (command: string[], env: Record<string, string> = {}): Promise<string> => {
    const child = Bun.spawn(command, { cwd: copy, env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" });
    const output = `${await new Response(child.stdout).text()}${await new Response(child.stderr).text()}`;
    return (await child.exited) === 0 ? "" : output;
  };
  const genrouter = (sources: string, ...words: string[]) =>
    Bun.spawnSync([process.execPath, join(sources, "src/main.ts"), ...words], {
      cwd: former,
      env: { PATH: process.env.PATH ?? "" },
    });

  beforeAll(async () => {
    const isNeeded = (path: string) => !path.startsWith(join(root, "test/corpus"));
    for (const path of COPIED) cpSync(join(root, path), join(copy, path), { recursive: true, filter: isNeeded });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    const names = Object.keys(BLOCKS);
    expect(names.map((name) => [name, follow(`${FOLDER}/add-a-${name}.md`, copy)])).toEqual(Object.entries(BLOCKS));
    expect(follow(`${FOLDER}/add-an-endpoint.md`, copy)).toBe(5);
    expect(await faultsOf([process.execPath, "test", "test/docs/docs.test.ts", "-t", "docs/reference.md"], { UPDATE: "1" })).toBe(
      "",
    );
    reference = readFileSync(join(copy, "docs/reference.md"), "utf8");
  }, 120_000);
  afterAll(() => {
    dropScratch(copy);
    dropScratch(former);
  });

  test("has correct types, pages included", async () => {
    const sources = { extends: "./tsconfig.json", include: ["src", ...ADDED_TESTS, "test/store/contract/admin.ts"] };
    writeFileSync(join(copy, "tsconfig.sources.json"), JSON.stringify(sources));
    const pages = { extends: "./tsconfig.json", include: ["console/pages.tsx"] };
    writeFileSync(join(copy, "web/tsconfig.pages.json"), JSON.stringify(pages));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const check = (path: string) => faultsOf(["node", tsc, "--noEmit", "-p", path]);
    expect(await Promise.all([check("tsconfig.sources.json"), check("web/tsconfig.pages.json")])).toEqual(["", ""]);
  }, 300_000);

  test("answers the new endpoint over HTTP, and the API of the new console page", async () => {
    expect(await faultsOf([process.execPath, "test", ...ADDED_TESTS])).toBe("");
  }, 120_000);

  test.each(["sqlite", ...(postgresReason === undefined ? ["postgres"] : [])])(
    "commits the new mutation in the drivers of test/store/%s.test.ts",
    async (driver) => {
      expect(await faultsOf([process.execPath, "test", `test/store/${driver}.test.ts`, "-t", MUTATION_TEST])).toBe("");
    },
    120_000,
  );

  test("migrates a directory of the present schema, and leaves the sources with their migrations", () => {
    const words = ["accounts", "create", "--data", join(former, "data"), "--json", "--name"];
    expect(genrouter(root, ...words, "before").exitCode).toBe(0);
    const schemaOf = () => {
      using db = new Database(join(former, "data/genrouter.db"), { readonly: true });
      const index = db.query("SELECT name FROM sqlite_schema WHERE name = 'audit_by_action'").all();
      const accounts = db.query<{ name: string }, []>("SELECT name FROM account ORDER BY seq").all();
      return [db.query("PRAGMA user_version").get(), index.length, accounts.map(({ name }) => name)];
    };
    expect(schemaOf()).toEqual([{ user_version: SCHEMA_VERSION }, 0, ["before"]]);
    const { exitCode, stderr } = genrouter(copy, ...words, "after");
    expect([exitCode, exitCode === 0 ? "" : stderr.toString()]).toEqual([0, ""]);
    expect(schemaOf()).toEqual([{ user_version: SCHEMA_VERSION + 1 }, 1, ["before", "after"]]);
    expect(readdirSync(join(former, "data"))).toContain(`genrouter.db.before-${SCHEMA_VERSION + 1}`);
    expect(existsSync(join(root, "src/store/sqlite/schema/0014.sql"))).toBe(false);
  }, 60_000);

  test("builds the pages with the new console page", async () => {
    const code = `import { buildWeb } from "./web/build.ts";
      const { files } = await buildWeb();
      const has = (text) => files.some(({ raw }) => new TextDecoder().decode(raw).includes(text));
      if (!has("/console/operator/orphan-totals") || !has("/orphan-totals\`")) throw new Error("the page is not in the build");`;
    expect(await faultsOf([process.execPath, "-e", code])).toBe("");
  }, 60_000);

  test("has the new setting with its default, its bounds and its row in the table of settings", async () => {
    const { checkSettings, readSettings } = (await import(
      join(copy, "src/config/load.ts")
    )) as typeof import("../../src/config/load.ts");
    const NAME = "GENROUTER_LIMITS__THUMBNAIL_BYTES";
    const limitOf = (env: Record<string, string>) => (readSettings(env).limits as Record<string, unknown>).thumbnail_bytes;
    expect([limitOf({}), limitOf({ [NAME]: "5" })]).toEqual([10_485_760, 5]);
    expect(checkSettings({ [NAME]: "0" }).faults).toEqual([expect.stringMatching(new RegExp(`^${NAME}: .*largest file`))]);
    expect(reference).toContain(`| \`${NAME}\` | \`10485760\` | largest file that the service makes a thumbnail of, bytes |`);
  });

  test("writes the new log event with its field, counts it, and lists it in the tables of events and metrics", async () => {
    const code = `import { createLog } from "./src/logging/logger.ts";
      import { createEventCounters } from "./src/telemetry/event-counters.ts";
      import { createRegistry } from "./src/telemetry/registry.ts";
      import { createRequests } from "./src/telemetry/requests.ts";
      const fields = { generation_id: "gen_1", file_bytes: 7 };
      createLog({ level: "info", format: "json", prompts: false })("thumbnail skipped", fields);
      const registry = createRegistry(createRequests());
      createEventCounters(registry)("thumbnail skipped", fields);
      console.log(await registry.print());`;
    const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", code], { cwd: copy });
    expect(JSON.parse(stderr.toString())).toMatchObject({
      ...{ level: "warn", msg: "thumbnail skipped", generation_id: "gen_1", file_bytes: 7 },
    });
    expect(stdout.toString()).toMatch(/^genrouter_thumbnails_skipped_total 1$/m);
    expect(stdout.toString()).toContain('genrouter_log_events_total{event="thumbnail skipped",level="warn"} 1');
    expect(reference).toContain("| thumbnail skipped | warn |");
    expect(reference).toContain("| `genrouter_thumbnails_skipped_total` | counter |  | Files without a thumbnail");
  });

  test("loads the new route into the catalogue, and rejects a route without rates", () => {
    const [, file = "", json = ""] = /^ *```json route=(\S+)\n([\s\S]*?)^ *```$/m.exec(read(`${FOLDER}/add-a-route.md`)) ?? [];
    const model = JSON.parse(read(file)) as { id: string; routes: { id: string }[] };
    const dir = join(copy, "own");
    mkdirSync(join(dir, "models"), { recursive: true });
    const write = (route: object) =>
      writeFileSync(join(dir, "models/one.json"), JSON.stringify({ ...model, routes: [...model.routes, route] }));
    const route = JSON.parse(json) as { id: string };
    write(route);
    expect(
      loadCatalogue(dir)
        .model(model.id)
        ?.routes.map(({ id }) => id),
    ).toContain(route.id);
    write({ ...route, rates: [] });
    expect(() => loadCatalogue(dir)).toThrow(CatalogueError);
  });
});
