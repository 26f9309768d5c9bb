// The systemd service: the unit is valid and confined, and its installation overwrites no file.
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { EXITS } from "../../src/cli/exit-codes.ts";
import { partsOf, unitFor } from "../../src/cli/systemd.ts";
import { readAll } from "../../src/config/load.ts";
import { SettingsSchema } from "../../src/config/schema.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const root = join(import.meta.dir, "../..");
const UNIT = readFileSync(join(root, "deploy/systemd/genrouter.service"), "utf8");
const lacks = (why: string, isLacking: boolean): boolean => {
  if (isLacking) console.log(`(skip) ${why}`);
  return isLacking;
};
const numbersOf = (key: string): number[] => (new RegExp(`^${key}=(.*)$`, "m").exec(UNIT)?.[1] ?? "").split(" ").map(Number);

describe("the systemd unit", () => {
  const noSystemd = lacks("systemd-analyze is not installed here", Bun.which("systemd-analyze") === null);
  const analyze = (...words: string[]) => {
    const path = join(freshDir(), "genrouter.service");
    // systemd-analyze rejects a unit whose program does not exist.
    writeFileSync(path, unitFor("/bin/true"));
    const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", ...words, path], {
      env: { ...process.env, NO_COLOR: "1" },
    });
    return { exitCode, said: stdout.toString() + stderr.toString() };
  };

  test.skipIf(noSystemd)("passes systemd-analyze verify without output", () => {
    expect(analyze("verify", "--man=no")).toEqual({ exitCode: 0, said: "" });
  });

  test.skipIf(noSystemd)("has an exposure below 4.0 in systemd-analyze security", () => {
    const { said } = analyze("security", "--offline=true", "--no-pager");
    const exposure = Number(/Overall exposure level for genrouter\.service: ([\d.]+)/.exec(said)?.[1]);
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThan(4);
  });

  test("in the binary equals the file of the repository, with the path of the program", () => {
    expect(unitFor("/usr/local/bin/genrouter")).toBe(UNIT);
    expect(unitFor("/opt/my tools/$&/100%")).toContain(
      '\nExecStart="/opt/my tools/$&/100%%" serve --config /etc/genrouter/genrouter.toml --data %S/genrouter\n',
    );
  });

  test("does not restart after exit codes that a restart cannot correct, and waits for a drain", () => {
    expect(numbersOf("RestartPreventExitStatus")).toEqual([EXITS.usage, EXITS.unwritable]);
    expect(numbersOf("SuccessExitStatus")).toEqual([EXITS.terminated]);
    expect(numbersOf("TimeoutStopSec")[0]).toBeGreaterThan(2 * SettingsSchema.properties.server.properties.drain_s.default);
  });

  test("survives an out-of-memory kill of a sandbox process, and lets sandbox processes set their own limits", () => {
    expect(UNIT).toMatch(/^OOMPolicy=continue$/m);
    // Sandbox processes compile at run time, re-execute themselves, lower their limits, and the service reads their /proc.
    expect(UNIT).not.toMatch(/^MemoryDenyWriteExecute=yes$/m);
    expect(UNIT).not.toMatch(/^(NoExecPaths|LimitAS|LimitNPROC|ProcSubset)=/m);
    expect(UNIT).toMatch(/^SystemCallFilter=@system-service$/m);
  });

  test("loads only credentials that are settings", () => {
    const names = [...UNIT.matchAll(/^#? ?LoadCredential=([^:]+):/gm)].map((match) => match[1] ?? "");
    expect(names).toEqual(["operator.token", "providers.fal.key"]);
    const dir = freshDir();
    for (const name of names) writeFileSync(join(dir, name), "x".repeat(40));
    const { settings, origins } = readAll({ CREDENTIALS_DIRECTORY: dir }, {}, undefined);
    expect(settings.operator.token).toHaveLength(40);
    expect([...origins.keys()].sort()).toEqual(["operator.token", "providers.fal.key"]);
  });
});

describe("genrouter install systemd", () => {
  const install = (place: string, ...words: string[]) =>
    runHere(["install", "systemd", "--root", place, "--program", "/usr/local/bin/genrouter", ...words]);
  const PLACES = ["etc/systemd/system/genrouter.service", "etc/genrouter/genrouter.toml", "etc/genrouter/operator.token"];

  test("prints next commands without the flags that the settings file replaces", async () => {
    const { err } = await install(freshDir());
    expect(err).toContain("sudo genrouter accounts create --name acme");
    expect(err).not.toContain("--data");
  });

  test("writes unit, settings and operator token with their modes, and prints the next steps", async () => {
    const place = freshDir();
    const { exit, out, err } = await install(place);
    expect(exit).toBe(0);
    expect(out.trimEnd().split("\n")).toEqual(PLACES.map((path) => `${join(place, path)}  written`));
    expect(PLACES.map((path) => (statSync(join(place, path)).mode & 0o777).toString(8))).toEqual(["644", "644", "600"]);
    expect(err).toContain("Nothing was started. Next:");
    expect(err).toContain("systemctl enable --now genrouter");
    expect(readdirSync(join(place, "etc/genrouter")).sort()).toEqual(["genrouter.toml", "operator.token"]);
    const token = readFileSync(join(place, "etc/genrouter/operator.token"), "utf8");
    expect(readAll({ GENROUTER_OPERATOR__TOKEN: token.trim() }, {}, undefined).settings.operator.token).toHaveLength(43);
  });

  test("changes nothing when it runs again, and reports a settings file that an operator has changed", async () => {
    const place = freshDir();
    await install(place);
    const settings = join(place, "etc/genrouter/genrouter.toml");
    writeFileSync(settings, "[server]\nport = 9000\n");
    const before = PLACES.map((path) => readFileSync(join(place, path), "utf8"));
    const { exit, out } = await install(place);
    expect(exit).toBe(0);
    expect(out).toContain("genrouter.service  already exists");
    expect(out).toContain("genrouter.toml  kept: it differs");
    expect(out).toContain("operator.token  already exists");
    expect(PLACES.map((path) => readFileSync(join(place, path), "utf8"))).toEqual(before);
  });

  test("--dry-run writes nothing", async () => {
    const place = freshDir();
    const { exit, out } = await install(place, "--dry-run");
    expect(exit).toBe(0);
    expect(out.match(/would be written/g)).toHaveLength(3);
    expect(readdirSync(place)).toEqual([]);
  });

  test("exits with 78 and a remedy when the directory cannot be written", async () => {
    const place = join(freshDir(), "file");
    writeFileSync(place, "");
    const { exit, err } = await install(place);
    expect(exit as number).toBe(78);
    expect(err).toMatch(/^error: .*genrouter\.service cannot be written \(ENOTDIR\)\n {2}run it as root .*\n$/);
  });

  test("exits with 2 and names npm run build when it runs from the sources", async () => {
    const { exit, err } = await runHere(["install", "systemd", "--root", freshDir()]);
    expect(exit as number).toBe(2);
    expect(err).toContain("npm run build");
  });

  test("writes a settings file in which every commented line is a setting", () => {
    const [text = ""] = partsOf("/x")
      .filter(({ path }) => path.endsWith(".toml"))
      .map(({ text }) => text);
    expect(readAll({}, {}, { path: "as it is", text }).settings.data.dir).toBe("/var/lib/genrouter");
    const whole = text.replace(/^# (?=\w+ = )/gm, "");
    const { origins } = readAll({}, {}, { path: "uncommented", text: whole });
    const keys = Object.entries(parse(whole)).flatMap(([section, values]) =>
      Object.keys(values as object).map((key) => `${section}.${key}`),
    );
    expect(keys.length).toBeGreaterThan(15);
    expect([...origins.keys()].sort()).toEqual(keys.sort());
  });
});

const noOther = lacks(
  "only root can have directories of other users, with setpriv",
  process.getuid?.() !== 0 || Bun.which("setpriv") === null || process.platform !== "linux",
);
test.skipIf(noOther)(
  "commands that root runs in the service's data directory create files of the service's user, and reach the running service",
  async () => {
    const base = freshDir();
    chmodSync(base, 0o755);
    // The layout of systemd: private/genrouter belongs to the service, and genrouter is a link to it.
    const dir = join(base, "private/genrouter");
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o700);
    chownSync(dir, 61_234, 61_234);
    const link = join(base, "genrouter");
    symlinkSync("private/genrouter", link);
    const made = await runHere(["accounts", "create", "--name", "acme", "--simulate", "--data", link]);
    expect(made.exit).toBe(0);
    const command = Bun.spawnSync([process.execPath, "src/main.ts", "providers", "set-key", "fal", "--data", link], {
      cwd: root,
      stdin: Buffer.from("id:a-key-of-fal\n"),
      env: { PATH: process.env.PATH ?? "" },
    });
    expect(command.stderr.toString()).not.toContain("error");
    const owners = () => Object.fromEntries(readdirSync(dir).map((name) => [name, lstatSync(join(dir, name)).uid]));
    expect(Object.keys(owners())).toContain("genrouter.db");
    expect(new Set(Object.values(owners()))).toEqual(new Set([61_234]));
    const service = Bun.spawn(
      [
        "setpriv",
        "--reuid=61234",
        "--regid=61234",
        "--clear-groups",
        process.execPath,
        join(root, "src/main.ts"),
        "serve",
        "--simulate",
        "--port",
        "0",
        "--data",
        link,
      ],
      { cwd: "/", env: { PATH: process.env.PATH ?? "" }, stdout: "pipe", stderr: "pipe" },
    );
    const reported = await service.stdout.getReader().read();
    expect(new TextDecoder().decode(reported.value)).toStartWith("url http://");
    const listed = await runHere(["accounts", "list", "--json", "--data", link]);
    expect([listed.exit, listed.out]).toEqual([0, expect.stringContaining('"acme"')]);
    expect(new Set(Object.values(owners()))).toEqual(new Set([61_234]));
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    expect(existsSync(join(dir, "control.sock"))).toBe(false);
  },
);
