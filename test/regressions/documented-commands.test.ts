// Documented and printed commands run unchanged without a terminal, and their figures agree.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM } from "../built.ts";
import { runHere } from "../cli/captured.ts";
import { openServer } from "../postgres/server.ts";
import { dropScratch } from "../scratch.ts";

const dir = mkdtempSync(join(tmpdir(), "gr-a15-"));
afterAll(() => dropScratch(dir));

const root = join(import.meta.dir, "../..");
const pageOf = (name: string) => readFileSync(join(root, name), "utf8");
/** The commands of a code block, without prompts and comments. */
const commandsOf = (block: string): string[] =>
  [...block.matchAll(/^ *\$ (.*)$/gm)].map(([, line = ""]) => line.replace(/ +#.*$/, "").replace(/^sudo /, ""));

test("the backup and restore commands of the README run in a shell without a terminal", () => {
  const [, block = ""] = /Create a backup, and restore it:.*?```console\n(.*?)```/s.exec(pageOf("README.md")) ?? [];
  const commands = commandsOf(block);
  expect(commands.filter((line) => line.includes("backup restore"))).toHaveLength(1);
  const program = join(dir, "genrouter");
  writeFileSync(program, `#!/bin/sh\nexec ${PROGRAM.map((word) => `'${word}'`).join(" ")} "$@"\n`, { mode: 0o755 });
  const data = join(dir, "private/genrouter");
  mkdirSync(join(dir, "private"));
  writeFileSync(join(dir, "genrouter.toml"), `[data]\ndir = ${JSON.stringify(data)}\n`);
  const env = { PATH: `${dir}:${process.env.PATH ?? ""}`, HOME: dir, GENROUTER_CONFIG: join(dir, "genrouter.toml") };
  const run = (line: string) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", "-c", line], { env, cwd: dir, stdin: "ignore" });
    expect([line, exitCode, stderr.toString()]).toEqual([line, 0, expect.any(String)]);
    return stdout.toString();
  };
  run("genrouter accounts create --name acme --credit-usd 5 && echo id:a-key-of-fal | genrouter providers set-key fal");
  for (const line of commands.filter((command) => !command.startsWith("systemctl")))
    run(
      line
        .replaceAll("/var/lib/private", join(dir, "private"))
        .replaceAll("/var/backups/genrouter/genrouter-…", `${join(dir, "backups")}/genrouter-*`)
        .replaceAll("/var/backups/genrouter", join(dir, "backups")),
    );
  expect(JSON.parse(run("genrouter accounts list --json"))).toMatchObject([{ name: "acme", available_usd: 5 }]);
  expect(run("genrouter providers list")).toContain("fal");
  expect(readdirSync(join(dir, "private")).sort()).toEqual(["genrouter", "genrouter.old"]);
});

test("every documented restore command passes --yes or --dry-run", () => {
  const pages = ["README.md", "deploy/README.md", "deploy/BACKUP.md"];
  const restores = pages.flatMap((name) => commandsOf(pageOf(name)).filter((line) => line.includes("genrouter backup restore")));
  expect(restores.length).toBeGreaterThan(2);
  for (const line of restores) expect(line).toMatch(/ --(yes|dry-run)\b/);
});

test("catalogue export and check report the models for the simulator apart from those of a live start", async () => {
  const place = join(dir, "catalogue");
  const listed = await runHere(["doctor", "--data", join(dir, "none")]);
  const offered = Number(/(\d+) models, built-in/.exec(listed.out)?.[1]);
  for (const words of [
    ["catalogue", "export", place],
    ["catalogue", "check", place],
  ]) {
    const { out } = await runHere(words);
    const [, all, simulated, real] =
      /(\d+) models \((\d+) of them for the simulator only; a service for real providers has (\d+)\)/.exec(out) ?? [];
    expect([words, Number(real), Number(all) - Number(simulated)]).toEqual([words, offered, offered]);
  }
});

test("install systemd prints the next commands of the README, without --data", async () => {
  const { err } = await runHere([
    "install",
    "systemd",
    "--dry-run",
    "--root",
    join(dir, "image"),
    "--program",
    "/usr/local/bin/genrouter",
  ]);
  const printed = [...err.matchAll(/^ *sudo (genrouter .*?)(?: +#.*)?$/gm)].map(([, line = ""]) => line);
  expect(printed).toEqual([
    "genrouter config check",
    "genrouter providers set-key fal < fal.key",
    "genrouter accounts create --name acme --credit-usd 50",
  ]);
  const ofReadme = commandsOf(pageOf("README.md"));
  for (const line of printed.slice(1)) expect(ofReadme).toContain(line);
});

test("nodes omits commands that used store.url, and nodes --all lists them as commands", async () => {
  const server = await openServer();
  try {
    const env = { GENROUTER_STORE__URL: server.url("postgres"), GENROUTER_DATA__DIR: join(dir, "node") };
    for (const name of ["first", "second"])
      expect((await runHere(["accounts", "create", "--name", name], env)).exit as number).toBe(0);
    const shown = await runHere(["nodes"], env);
    expect([shown.exit as number, shown.out]).toEqual([0, "no node is live\n"]);
    expect(JSON.parse((await runHere(["nodes", "--json"], env)).out)).toMatchObject({ shared: true, nodes: [] });
    const { nodes } = JSON.parse((await runHere(["nodes", "--all", "--json"], env)).out) as { nodes: object[] };
    expect(nodes).toMatchObject([
      { alive: false, is_command: true },
      { alive: false, is_command: true },
    ]);
    expect((await runHere(["nodes", "--all"], env)).out).toMatch(/ command +0$/m);
  } finally {
    await server.stop();
  }
});
