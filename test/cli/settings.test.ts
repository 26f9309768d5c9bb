// Settings from flags, the environment, files that it names, service credentials, a TOML file and defaults, in this order.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkSettings, readAll, readSettings } from "../../src/config/load.ts";
import { RENAMED_SETTINGS } from "../../src/config/renamed-settings.ts";
import { BadSetting, SettingsSchema } from "../../src/config/schema.ts";
import { findSettingsFile } from "../../src/config/toml-file.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const CANARY = "canary-0123456789abcdefghijkl";
const toml = (text: string) => ({ path: "/etc/x.toml", text });
const write = (text: string, name = "genrouter.toml"): string => {
  const path = join(freshDir(), name);
  writeFileSync(path, text);
  return path;
};
const linesOf = (env: Record<string, string>, text?: string): string[] =>
  checkSettings(env, {}, text === undefined ? undefined : toml(text)).faults;

test("readSettings prefers flags, variables, _FILE variables, credentials, the file and defaults in this order", () => {
  const dir = freshDir();
  writeFileSync(join(dir, "server.port"), "3\n");
  const file = toml('[server]\nport = 2\nhost = "::1"\n');
  const env: Record<string, string> = {};
  const port = (flags = {}) => readSettings(env, flags, file).server.port;
  expect(readSettings(env).server.port).toBe(8080);
  expect(port()).toBe(2);
  env.CREDENTIALS_DIRECTORY = dir;
  expect(port()).toBe(3);
  env.GENROUTER_SERVER__PORT_FILE = write("4\n", "port");
  expect(port()).toBe(4);
  delete env.GENROUTER_SERVER__PORT_FILE;
  env.GENROUTER_SERVER__PORT = "5";
  expect(port()).toBe(5);
  expect(port({ server: { port: 6 } })).toBe(6);
  expect(readSettings(env, {}, file).server.host).toBe("::1");
});

test("readAll returns the origin of each setting", () => {
  const env = { GENROUTER_LIMITS__MAX_RUNNING: "7", FAL_KEY: "k" };
  const { origins } = readAll(env, { server: { port: 1 } }, toml('[log]\nlevel = "warn"\n'));
  expect(Object.fromEntries(origins)).toEqual({
    "log.level": "log.level in /etc/x.toml",
    "providers.fal.key": "FAL_KEY",
    "limits.max_running": "GENROUTER_LIMITS__MAX_RUNNING",
    "server.port": "--port",
  });
});

describe("a key of a provider", () => {
  const file = toml('[providers.fal]\nkey = "of the file"\n[providers.together-video]\nbase_url = "http://x"\n');
  test("in a well-known variable ranks below a GENROUTER_ variable and above the settings file", () => {
    expect(readSettings({}, {}, file).providers.fal).toEqual({ key: "of the file" });
    expect(readSettings({ FAL_KEY: "theirs" }, {}, file).providers.fal).toEqual({ key: "theirs" });
    expect(readSettings({ FAL_KEY: "theirs", GENROUTER_PROVIDERS__FAL__KEY: "ours" }, {}, file).providers.fal?.key).toBe("ours");
  });
  test("in a key file that a variable names replaces the key of the settings file", () => {
    expect(readSettings({ GENROUTER_PROVIDERS__FAL__KEY_FILE: "/k" }, {}, file).providers.fal).toEqual({ key_file: "/k" });
  });
  test("can be a credential of the service manager", () => {
    const dir = freshDir();
    writeFileSync(join(dir, "providers.together-video.key"), "k\n");
    writeFileSync(join(dir, "another-file"), "x");
    expect(readSettings({ CREDENTIALS_DIRECTORY: dir }, {}, file).providers["together-video"]).toEqual({
      base_url: "http://x",
      key: "k",
    });
  });
});

describe("invalid settings", () => {
  test.each<[string, RegExp[]]>([
    [
      "[server]\nprot = 1\nhots = 2\n",
      [/^server\.prot in \/etc\/x\.toml is not a setting; known here: host, port/, /^server\.hots /],
    ],
    ["[nonsense]\nx = 1\n", [/^nonsense\.x in .* is not a setting; the sections are server, data/]],
    ["port = 1\n", [/^port in .* is not a setting; the sections are/]],
    ["server = 1\n", [/^server in .*: expected a table, for example \[server\]$/]],
    ["limits = 3\n", [/^limits in .*: expected a table, for example \[limits\]$/]],
    ["providers = 3\n", [/^providers in .*: expected a table, for example \[providers\.fal\]$/]],
    ["[providers]\nfal = 3\n", [/^providers\.fal in .*: expected a table, for example \[providers\.fal\]$/]],
    ["[server.port]\nx = 1\n", [/^server\.port\.x in .* is not a setting/]],
    [
      '[server]\nport = "many"\n[log]\nlevel = "loud"\n',
      [/^server\.port in .*: expected a whole number from 0 to 65535, not "many"/, /^log\.level in .*debug, info/],
    ],
    ["[data]\ndir = [1, 2]\n", [/^data\.dir in .*: expected a text that is not empty, not \[1,2\]/]],
    ["[server]\nport = 1979-05-27\n", [/^server\.port in .*: expected a whole number from 0 to 65535/]],
    [`[operator]\ntoken = "short-canary"\n`, [/^operator\.token in .*24 to 200 characters/]],
    [`[providers.fal]\nkey = ["${CANARY}"]\n`, [/^providers\.fal\.key in .*: expected a text/]],
    [`[server]\nport = 1\n[providers.fal\nkey = "${CANARY}"\n`, [/^\/etc\/x\.toml:3:\d+: /]],
    ['[backup]\nat = "25:00"\n', [/^backup\.at in .*UTC, as 03:30/]],
    ["[server]\ndrain_s = 1.9\nport = true\n", [/^server\.port in .*, not true/, /^server\.drain_s in .*, not 1\.9/]],
    ["[limits]\nfile_link_ttl_s = 0.5\n", [/^limits\.file_link_ttl_s in .*: expected a whole number from 1 to 3600, not 0\.5/]],
    ["[log]\nprompts = 1\nlevel = true\n", [/^log\.level in .*, not true/, /^log\.prompts in .*, not 1 /]],
    ["[data]\ndir = 5\n", [/^data\.dir in .*: expected a text that is not empty, not 5/]],
    [
      "[simulator]\nspeed = inf\n",
      [/^simulator\.speed in .*: expected a number greater than 0 and at most 100000, not Infinity/],
    ],
    [
      `[providers.FAL]\nkey = "${CANARY}"\n`,
      [/^providers\.FAL\.key in \/etc\/x\.toml is not a setting; a provider's id consists of/],
    ],
    ["[server]\nprot = 1\nport = 1.5\n", [/^server\.prot in .* is not a setting/, /^server\.port in .*, not 1\.5/]],
  ])("are all reported with their place and without credentials: %j", (text, expected) => {
    const faults = linesOf({}, text);
    expect(faults).toHaveLength(expected.length);
    for (const [index, line] of faults.entries()) {
      expect(line).toMatch(expected[index] as RegExp);
      expect(line).not.toContain("\n");
      expect(line).not.toContain("canary");
    }
  });

  test.each(Object.entries(RENAMED_SETTINGS))("with the former name %s are reported with the current name", (former, current) => {
    const variable = (path: string) => `GENROUTER_${path.toUpperCase().replaceAll(".", "__")}`;
    const [section, key] = former.split(".");
    expect(linesOf({ [variable(former)]: "5" }, "")).toEqual([
      `${variable(former)} was renamed; set ${variable(current)} instead`,
    ]);
    expect(linesOf({ [`${variable(former)}_FILE`]: "/etc/five" }, "")).toEqual([
      `${variable(former)}_FILE was renamed; set ${variable(current)}_FILE instead`,
    ]);
    expect(linesOf({}, `[${section}]\n${key} = 5\n`)).toEqual([`${former} in /etc/x.toml was renamed; set ${current} instead`]);
    expect(linesOf({ [variable(current)]: "5" }, "")).toEqual([]);
  });

  test("of every class are reported, in spite of earlier faults", () => {
    const env = {
      GENROUTER_PORT: "1",
      GENROUTER_LIMITS__BURSTS: "1",
      GENROUTER_LIMITS__MAX_RUNNING: "1.5",
      GENROUTER_OPERATOR__TOKEN_FILE: "/no/token",
      CREDENTIALS_DIRECTORY: "/no/credentials",
    };
    const starts = (lines: string[]) => lines.map((line) => line.split(/[ :]/)[0]);
    expect(starts(linesOf(env, "[log]\nlevel = 1\nlevle = 2\n"))).toEqual([
      "CREDENTIALS_DIRECTORY",
      "GENROUTER_PORT",
      "GENROUTER_OPERATOR__TOKEN_FILE",
      "log.levle",
      "GENROUTER_LIMITS__BURSTS",
      "GENROUTER_LIMITS__MAX_RUNNING",
      "log.level",
    ]);
    expect(starts(linesOf({ GENROUTER_PORT: "1" }, "[log\n"))).toEqual(["/etc/x.toml", "GENROUTER_PORT"]);
    expect(() => readSettings(env)).toThrow(/^CREDENTIALS_DIRECTORY/);
  });

  test("in files that variables and credentials name are reported", () => {
    const dir = freshDir();
    writeFileSync(join(dir, "operator.tokens"), CANARY);
    expect(linesOf({ CREDENTIALS_DIRECTORY: dir })).toEqual([
      "the credential operator.tokens is not a setting; known here: TOKEN",
    ]);
    expect(linesOf({ CREDENTIALS_DIRECTORY: "/no/such" })).toEqual(["CREDENTIALS_DIRECTORY: /no/such cannot be read (ENOENT)"]);
    expect(linesOf({ GENROUTER_OPERATOR__TOKEN_FILE: "/no/such" })).toEqual([
      "GENROUTER_OPERATOR__TOKEN_FILE: /no/such cannot be read (ENOENT)",
    ]);
    expect(linesOf({ GENROUTER_OPERATOR__TOKEN_FILE: write("\n") })[0]).toMatch(/ is empty; it must contain only the value/);
    expect(linesOf({ GENROUTER_OPERATOR__TOKEN_FILE: "x", GENROUTER_OPERATOR__TOKEN: CANARY })).toEqual([
      "GENROUTER_OPERATOR__TOKEN and GENROUTER_OPERATOR__TOKEN_FILE are both set; set one of them",
    ]);
    expect(linesOf({ GENROUTER_OPERATOR__TOKENS_FILE: "x" })[0]).toMatch(/^GENROUTER_OPERATOR__TOKENS_FILE is not a setting/);
  });
});

describe("the settings file", () => {
  test("is the named file, or the user's own file unless the user is root", () => {
    const home = freshDir();
    const path = join(home, "genrouter", "genrouter.toml");
    expect(findSettingsFile({ XDG_CONFIG_HOME: home }, undefined, false)).toBeUndefined();
    mkdirSync(join(home, "genrouter"));
    writeFileSync(path, "# mine\n");
    expect(findSettingsFile({ XDG_CONFIG_HOME: home }, undefined, false)).toEqual({ path, text: "# mine\n" });
    expect(findSettingsFile({ XDG_CONFIG_HOME: home }, undefined, true)).toBeUndefined();
    expect(findSettingsFile({ GENROUTER_CONFIG: path }, undefined, true)?.path).toBe(path);
    const other = write("");
    expect(findSettingsFile({ GENROUTER_CONFIG: path }, other, true)?.path).toBe(other);
  });
  test("makes a command exit with 2 and one line when it is named and cannot be read", async () => {
    const { exit, err } = await runHere(["accounts", "list", "--config", "/no/such.toml"]);
    expect(exit as number).toBe(2);
    expect(err).toBe("error: --config: /no/such.toml cannot be read (ENOENT)\n");
    expect(() => findSettingsFile({ GENROUTER_CONFIG: freshDir() }, undefined)).toThrow(BadSetting);
  });
  test("is used by every command", async () => {
    const dir = freshDir();
    chmodSync(dir, 0o700);
    const config = write(`[data]\ndir = ${JSON.stringify(join(dir, "made"))}\n`);
    const made = await runHere(["accounts", "create", "--name", "acme", "--json", "--config", config]);
    expect(made.exit as number).toBe(0);
    const listed = await runHere(["accounts", "list", "--json"], { GENROUTER_CONFIG: config });
    expect(listed.out).toContain(JSON.parse(made.out).id);
  });
});

describe("serve", () => {
  test.each(["0.0.0.0", "::", "192.0.2.1", "some.host.invalid"])(
    "rejects host %s, which other machines can reach, without an operator token",
    async (host) => {
      const words = ["serve", "--simulate", "--host", host, "--port", "0", "--data", join(freshDir(), "none")];
      const { exit, err } = await runHere(words);
      expect(exit as number).toBe(2);
      expect(err).toMatch(/^error: --host: .* can be reached from other machines; set operator\.token first.*\n$/);
    },
  );
});

describe("config", () => {
  test("check prints each fault on its own line and exits with 2", async () => {
    const config = write("[server]\nprot = 1\nhots = 2\n");
    const { exit, out } = await runHere(["config", "check", "--config", config]);
    expect(exit as number).toBe(2);
    expect(out.split("\n").filter((line) => line.startsWith("✘"))).toHaveLength(2);
    const json = await runHere(["config", "check", "--json", "--config", config]);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, file: config, faults: [expect.any(String), expect.any(String)] });
  });

  test("check reports unknown providers, unreadable key files and missing catalogues", async () => {
    const config = write(
      `[providers.nope]\nkey = "${CANARY}"\n[providers.fal]\nkey_file = "/no/key"\n[catalogue]\ndir = "/no/dir"\n`,
    );
    const { exit, out } = await runHere(["config", "check", "--config", config]);
    expect(exit as number).toBe(2);
    expect(out).toContain(`✘ providers.nope.key in ${config}: there is no such provider`);
    expect(out).toContain(`✘ providers.fal.key_file in ${config}: /no/key cannot be read`);
    expect(out).toMatch(/\/no\/dir/);
    expect(out).not.toContain(CANARY);
  });

  test("check reports a key that cannot be sent with its origin, also beside other faults", async () => {
    const env = { GENROUTER_PROVIDERS__FAL__KEY_FILE: write(`${CANARY}\n${CANARY}\n`), BFL_API_KEY: `two ${CANARY}` };
    const lines = async (more: Record<string, string>) => {
      const { out, exit } = await runHere(["config", "check"], { ...env, ...more });
      expect(exit as number).toBe(2);
      expect(out).not.toContain(CANARY);
      return out.split("\n").filter((line) => line.startsWith("✘"));
    };
    const keys = [
      expect.stringMatching(/^✘ BFL_API_KEY: the credential is invalid/),
      expect.stringMatching(/^✘ GENROUTER_PROVIDERS__FAL__KEY_FILE: the credential is invalid; expected printable ASCII/),
    ];
    expect(await lines({})).toEqual(keys);
    expect(await lines({ GENROUTER_SERVER__PORT: "x" })).toEqual([expect.stringMatching(/^✘ GENROUTER_SERVER__PORT: /), ...keys]);
  });

  test("check accepts valid settings, and reports a reachable host without an operator token", async () => {
    const good = await runHere(["config", "check", "--config", write('[log]\nlevel = "warn"\n')]);
    expect(good).toMatchObject({ exit: 0, err: "" });
    expect(good.out).toMatch(/^✔ the settings can be used: 1 setting of .*, the others are defaults\n$/);
    const open = await runHere(["config", "check"], { GENROUTER_SERVER__HOST: "192.0.2.1" });
    expect(open).toMatchObject({ exit: 2 });
    expect(open.out).toMatch(/^✘ GENROUTER_SERVER__HOST: 192\.0\.2\.1 can be reached/);
  });

  test("check warns of credentials in a file that all users can read", async () => {
    const config = write(`[operator]\ntoken = "${CANARY}"\n`);
    chmodSync(config, 0o644);
    const open = await runHere(["config", "check", "--config", config]);
    expect(open).toMatchObject({ exit: 0 });
    expect(open.out).toContain(
      `! ${config} holds credentials (operator.token) and all users of this machine can read it: chmod o-r`,
    );
    chmodSync(config, 0o640);
    expect((await runHere(["config", "check", "--config", config])).out).toMatch(/^✔ [^\n]*\n$/);
  });

  test("print prints every setting in a form that reads back as the same settings, without credentials", async () => {
    const env = {
      GENROUTER_OPERATOR__TOKEN: CANARY,
      GENROUTER_S3__SECRET_KEY: CANARY,
      FAL_KEY: CANARY,
      GENROUTER_PROVIDERS__FAL__BASE_URL: `http://user:${CANARY}@h/`,
      GENROUTER_LIMITS__MAX_RUNNING: "7",
    };
    const { out, exit } = await runHere(["config", "print"], env);
    expect(exit as number).toBe(0);
    expect(out).not.toContain(CANARY);
    expect(out).toMatch(/^max_running = 7 +# GENROUTER_LIMITS__MAX_RUNNING$/m);
    for (const section of Object.keys(SettingsSchema.properties).filter((name) => name !== "providers"))
      expect(out).toContain(`[${section}]\n`);
    const plain = await runHere(["config", "print"], {
      GENROUTER_LIMITS__MAX_RUNNING: "7",
      GENROUTER_DATA__DIR: 'a "b"\\c\u00e9',
    });
    const { settings } = readAll({}, {}, toml(plain.out));
    expect(settings).toEqual(readSettings({ GENROUTER_LIMITS__MAX_RUNNING: "7", GENROUTER_DATA__DIR: 'a "b"\\c\u00e9' }));
  });

  test("print --redact also hides addresses and paths", async () => {
    const config = write(
      '[server]\npublic_url = "https://gen.acme.example"\nport = 9\n[data]\ndir = "/srv/acme"\n[log]\nlevel = "warn"\n',
    );
    const { out } = await runHere(["config", "print", "--redact", "--config", config]);
    expect(out).not.toMatch(/acme|genrouter\.toml/);
    expect(out).toMatch(/^level = "warn" +# settings file$/m);
    expect(out).toMatch(/^port = 9 /m);
    const json = await runHere(["config", "print", "--redact", "--json", "--config", config]);
    expect(
      json.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    ).toContainEqual({
      setting: "data.dir",
      value: "(hidden)",
      from: "settings file",
    });
  });
});
