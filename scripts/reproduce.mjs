// Builds the same sources twice in different places and at different times, and compares the bytes.
import { createHash } from "node:crypto";
import { cpSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compile } from "./compile.mjs";
import { runtimeOf } from "./runtimes.mjs";

/** Inputs of a build, except packages. */
const SOURCES = [
  ...["src", "actors", "catalogue", "scripts", "deploy", "docs/guides", "web"],
  ...["package.json", "package-lock.json", "tsconfig.json", "bunfig.toml", ".npmrc", "LICENSE", "THIRD_PARTY_NOTICES.txt"],
];
/** A time that no file of the checkout has. */
const ANOTHER_DAY = new Date("2001-02-03T04:05:06Z");

const digestOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** Copies the checkout to `place`, with production packages and different timestamps. */
const copyTo = (root, place) => {
  for (const name of SOURCES) if (existsSync(join(root, name))) cpSync(join(root, name), join(place, name), { recursive: true });
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  for (const [path, { dev }] of Object.entries(packages))
    if (path !== "" && !dev && !/^node_modules\/(bun|@oven\/.*)$/.test(path) && existsSync(join(root, path)))
      cpSync(join(root, path), join(place, path), { recursive: true });
  cpSync(join(root, "node_modules", ".genrouter-lock"), join(place, "node_modules", ".genrouter-lock"));
  for (const entry of readdirSync(place, { recursive: true })) utimesSync(join(place, entry), ANOTHER_DAY, ANOTHER_DAY);
};

/** Links the runtime, which is large and only read, under the name that the copy expects. */
const lend = (from, to) => {
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
};

/** @returns the hashes of both builds. */
export const reproduce = ({ root, target, revision }) => {
  const here = mkdtempSync(join(tmpdir(), "genrouter-once-"));
  const elsewhere = mkdtempSync(join(tmpdir(), "another-name-altogether-"));
  try {
    const first = compile({ root, target, place: join(here, "out"), revision });
    copyTo(root, elsewhere);
    const runtime = runtimeOf(root, target);
    const copy = join(elsewhere, "node_modules", "bun", "bin", "bun.exe");
    lend(runtime, copy);
    const environment = { ...process.env };
    Object.assign(process.env, { TZ: "Pacific/Kiritimati", LANG: "tr_TR.UTF-8", USER: "another-user" });
    const second = compile({ root: elsewhere, target, place: join(elsewhere, "some", "where"), revision, runtime: copy });
    for (const name of ["TZ", "LANG", "USER"]) {
      if (environment[name] === undefined) delete process.env[name];
      else process.env[name] = environment[name];
    }
    const hashes = [digestOf(first.binary), digestOf(second.binary)];
    const mapsOf = ({ maps }) => maps.map(digestOf).join();
    return { hashes, isSame: hashes[0] === hashes[1] && mapsOf(first) === mapsOf(second) };
  } finally {
    for (const place of [here, elsewhere]) rmSync(place, { recursive: true, force: true });
  }
};
