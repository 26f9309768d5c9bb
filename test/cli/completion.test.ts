// Shell completion, the manual page and the licence notices, tested with the real shells and page formatters.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NOTICES, printNotices, productionPackages } from "../../scripts/notices.ts";
import { allOf, treeOf } from "../../src/cli/command-tree.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

/** Whether a program is missing; the test that needs it is then skipped, which is printed. */
const lacks = (program: string): boolean => {
  if (Bun.which(program) !== null) return false;
  console.log(`(skip) ${program} is not installed here`);
  return true;
};
/** A directory with a program `genrouter` that lists two models, those of the service or only those of the catalogue. */
const programOf = (lists: "service" | "catalogue"): string => {
  const dir = freshDir();
  const path = join(dir, "genrouter");
  const words = lists === "service" ? "--quiet models" : "--quiet models --all";
  writeFileSync(path, `#!/bin/sh\n[ "$*" = "${words}" ] && printf 'MODEL  KIND\\nsim-image-1  image\\nsim-speech-1  audio\\n'\n`);
  chmodSync(path, 0o755);
  return dir;
};
const run = (words: string[], env: Record<string, string> = {}): string => {
  const { stdout, stderr } = Bun.spawnSync(words, { env: { PATH: process.env.PATH ?? "", HOME: freshDir(), ...env } });
  return stdout.toString() + stderr.toString();
};
const scriptFor = async (shell: string): Promise<string> => {
  const path = join(freshDir(), `completion.${shell}`);
  writeFileSync(path, (await runHere(["completion", shell])).out);
  return path;
};

/** The text up to the cursor, and the completions that are expected there. */
const TYPED: [string, string[]][] = [
  ["acc", ["accounts"]],
  ["accounts create --cr", ["--credit-usd"]],
  ["keys create --scope ", ["generate", "read"]],
  ["--quiet credits t", ["take"]],
  ["completion ", ["bash", "zsh", "fish"]],
  ["accounts create --name credits --js", ["--json"]],
  ["accounts create --name ", []],
  ["generate sim-i", ["sim-image-1"]],
  ["explain sim-", ["sim-image-1", "sim-speech-1"]],
  ["generations list --model sim-s", ["sim-speech-1"]],
];
const withProgram = (lists: "service" | "catalogue" = "service") => ({ PATH: `${programOf(lists)}:${process.env.PATH}` });

test.skipIf(lacks("bash"))("bash completes commands, flags and choices", async () => {
  const script = await scriptFor("bash");
  const asked = TYPED.map(([typed]) => `t ${typed.endsWith(" ") ? `${typed}""` : typed}`).join("\n");
  const said = run(
    [
      "bash",
      "-c",
      `source ${script}; t() { COMP_WORDS=(genrouter "$@"); COMP_CWORD=$#; COMPREPLY=(); _genrouter; echo "\${COMPREPLY[*]}"; }\n${asked}\ncomplete -p genrouter`,
    ],
    withProgram(),
  );
  expect(said.split("\n").slice(0, -1)).toEqual([
    ...TYPED.map(([, offered]) => offered.join(" ")),
    "complete -F _genrouter genrouter",
  ]);
});

test.skipIf(lacks("fish"))("fish completes commands, flags and choices", async () => {
  const script = await scriptFor("fish");
  for (const [typed, offered] of TYPED) {
    const said = run(["fish", "--no-config", "-c", `source ${script}; complete -C "genrouter ${typed}"`], withProgram());
    const names = said
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t")[0] ?? "");
    expect([typed, names.sort()]).toEqual([typed, offered.length === 0 ? [""] : [...offered].sort()]);
  }
});

test.skipIf(lacks("zsh"))("zsh completes commands and flags at a terminal", async () => {
  const script = await scriptFor("zsh");
  // zsh inserts the only match into the line.
  const one = TYPED.filter(([typed, offered]) => offered.length === 1 && !typed.endsWith(" "));
  const said = run(
    [
      "zsh",
      "-f",
      "-c",
      `zmodload zsh/zpty && zpty z zsh -f -i
zpty -w z "autoload -U compinit; compinit -u -D; source ${script}; echo rea''dy"
zpty -r -m z out '*ready*'
t() { zpty -w -n z "$1"$'\\t'; zpty -r -m z out "*$2*" && print -r -- "offered $2"; zpty -w -n z $'\\x15'; }
${one.map(([typed, [offered = ""]]) => `t 'genrouter ${typed}' '${offered}'`).join("\n")}
zpty -d z`,
    ],
    withProgram(),
  );
  expect(said.split("\n").slice(0, -1)).toEqual(one.map(([, [offered]]) => `offered ${offered}`));
});

test.skipIf(lacks("bash"))("bash completes the models of the catalogue when no service answers", async () => {
  const script = await scriptFor("bash");
  const words = `source ${script}; COMP_WORDS=(genrouter generate ""); COMP_CWORD=2; _genrouter; echo "\${COMPREPLY[*]}"`;
  expect(run(["bash", "-c", words], withProgram("catalogue"))).toBe("sim-image-1 sim-speech-1\n");
});

test.skipIf(lacks("bash"))("an id that a hostile service sends is neither completed nor run by bash", async () => {
  const script = await scriptFor("bash");
  const dir = freshDir();
  const [program, mark] = [join(dir, "genrouter"), join(dir, "was-run")];
  writeFileSync(
    program,
    `#!/bin/sh\nprintf 'MODEL  KIND\\n%s  image\\n' '$(touch\${IFS}${mark})' '\`touch\${IFS}${mark}\`' sim-image-1\n`,
  );
  chmodSync(program, 0o755);
  const words = `source ${script}; COMP_WORDS=(genrouter generate ""); COMP_CWORD=2; _genrouter; echo "\${COMPREPLY[*]}"`;
  expect(run(["bash", "-c", words], { PATH: `${dir}:${process.env.PATH}` })).toBe("sim-image-1\n");
  expect(existsSync(mark)).toBe(false);
});

describe("the manual page", () => {
  const page = async () => (await runHere(["man"])).out;
  const saved = async () => {
    const path = join(freshDir(), "genrouter.1");
    writeFileSync(path, await page());
    return path;
  };

  test("lists every command with its examples, and has the settings, exit codes and files", async () => {
    const text = (await page()).replaceAll("\\-", "-");
    const root = treeOf(buildProgram({ terminal: createTerminal({}, () => undefined), env: {}, exit: 0 }));
    const [, ...commands] = allOf(root);
    expect(commands.length).toBeGreaterThan(25);
    for (const { words } of commands) {
      expect(text).toContain(`.SS genrouter ${words.join(" ")}\n`);
      expect(text).toContain(`\n  $ genrouter ${words.join(" ")}`);
    }
    for (const name of ["GENROUTER_SERVER__PORT", "GENROUTER_OPERATOR__TOKEN", "130 Ctrl-C", "genrouter.db-wal"])
      expect(text).toContain(name);
  });

  test.skipIf(lacks("groff"))("is formatted by groff without warnings", async () => {
    const { stderr } = Bun.spawnSync(["groff", "-man", "-ww", "-Tutf8", await saved()]);
    expect(stderr.toString()).toBe("");
  });

  test.skipIf(lacks("mandoc"))("passes mandoc lint without warnings", async () => {
    expect(run(["mandoc", "-Tlint", "-Wwarning", await saved()])).toBe("");
  });
});

describe("licences", () => {
  test("the notices match the locked packages (UPDATE=1 rewrites them)", async () => {
    const text = printNotices();
    if (process.env.UPDATE === "1") writeFileSync(NOTICES, text);
    expect(await Bun.file(NOTICES).text()).toBe(text);
  });

  test("the notices include every package that is bundled", async () => {
    const built = await Bun.build({
      entrypoints: ["main.ts", "store/sqlite/worker.ts", "store/sqlite/verify/verify.worker.ts"].map((path) =>
        join(import.meta.dir, "../../src", path),
      ),
      target: "bun",
      // As in scripts/compile.mjs.
      external: ["supports-color"],
      metafile: true,
    });
    const inside = Object.keys(built.metafile?.inputs ?? {}).map(
      (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1],
    );
    const bundled = [...new Set(inside.filter((name) => name !== undefined))];
    expect(bundled).toContain("xstate");
    const named = productionPackages().map(({ name }) => name);
    expect(bundled.filter((name) => !named.includes(name))).toEqual([]);
  });

  test("printNotices rejects a package whose licence is not allowed and names it", () => {
    const one = { path: "node_modules/xstate", version: "1.0.0", integrity: "", name: "strange" };
    for (const license of ["GPL-3.0", "(MIT AND GPL-3.0)", undefined])
      expect(() => printNotices([{ ...one, license }])).toThrow(
        `not allowed in the binary: strange (${license ?? "no licence"})`,
      );
    expect(printNotices([{ ...one, license: "(GPL-3.0 OR MIT)" }])).toContain("strange 1.0.0");
  });

  test("genrouter licenses prints the notices", async () => {
    const { exit, out } = await runHere(["licenses"]);
    expect(exit).toBe(0);
    expect(out).toContain("\nmediabunny 1.");
    expect(out).toContain("Mozilla Public License");
    expect(out).toContain("JavaScriptCore");
  });
});
