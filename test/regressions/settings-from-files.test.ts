// `…_file` settings: a settings file names the file that contains a value.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkSettings, readAll } from "../../src/config/load.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const toml = (text: string) => ({ path: "/etc/x.toml", text });
const write = (text: string, name: string): string => {
  const path = join(freshDir(), name);
  writeFileSync(path, text);
  return path;
};
const linesOf = (text: string): string[] => checkSettings({}, {}, toml(text)).faults;

describe("a setting with the suffix _file in the settings file", () => {
  const url = "postgres://genrouter:secret@127.0.0.1/genrouter";
  const named = (path: string, more = "") => `[store]\nurl_file = ${JSON.stringify(path)}\n${more}`;

  test("takes its value from the named file and reports that file as its origin", () => {
    const path = write(`${url}\n`, "store.url");
    const { settings, origins } = readAll({}, {}, toml(named(path)));
    expect(settings.store.url).toBe(url);
    expect(origins.get("store.url")).toBe("store.url_file in /etc/x.toml");
  });

  test("is not opened if the environment or a credential sets the value", () => {
    expect(readAll({ GENROUTER_STORE__URL: url }, {}, toml(named("/no/such"))).settings.store.url).toBe(url);
    const dir = freshDir();
    writeFileSync(join(dir, "store.url"), url);
    expect(readAll({ CREDENTIALS_DIRECTORY: dir }, {}, toml(named("/no/such"))).settings.store.url).toBe(url);
  });

  test("is rejected with its location if the file is unreadable, the path is invalid or the value is also set", () => {
    const from = "store.url_file in /etc/x.toml";
    expect(linesOf(named("/no/such"))).toEqual([`${from}: /no/such cannot be read (ENOENT)`]);
    expect(linesOf("[store]\nurl_file = 7\n")).toEqual([`${from}: expected the path of a file that contains the value`]);
    expect(linesOf(named("/no/such", `url = ${JSON.stringify(url)}\n`))).toEqual([
      `store.url and ${from} are both set; set one of them`,
    ]);
    expect(linesOf('[store]\nurls_file = "x"\n')[0]).toMatch(
      /^store\.urls_file in \/etc\/x\.toml is not a setting; known here: url/,
    );
  });

  test("can be any setting and is validated like a direct value", () => {
    expect(readAll({}, {}, toml(`[server]\nport_file = ${JSON.stringify(write("9000", "port"))}\n`)).settings.server.port).toBe(
      9000,
    );
    expect(linesOf(`[server]\nport_file = ${JSON.stringify(write("x", "port"))}\n`)[0]).toMatch(/^server\.port_file in /);
  });
});
