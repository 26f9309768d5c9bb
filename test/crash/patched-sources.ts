// A copy of the sources with a planted bug, as a program: a patch must also reach the threads of the service.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entry, type Genrouter } from "../../src/torture/crash/processes.ts";
import type { Patch } from "../mutants/mutant.ts";

const ROOT = join(import.meta.dir, "../..");
/** What `genrouter serve` imports. */
const COPIED = ["src", "actors", "catalogue", "client/src", "web", "deploy", "docs/guides", "package.json", "tsconfig.json"];
const LINKED = ["node_modules", "openapi.json"];

/** @throws if the source has changed and a patch no longer fits */
export const patchedSources = (dir: string, patches: readonly Patch[]): Genrouter => {
  mkdirSync(join(dir, "docs"), { recursive: true });
  for (const path of COPIED) cpSync(join(ROOT, path), join(dir, path), { recursive: true });
  for (const path of LINKED) symlinkSync(join(ROOT, path), join(dir, path));
  for (const { file, find, put } of patches) {
    const parts = readFileSync(join(dir, file), "utf8").split(find);
    if (parts.length !== 2) throw new Error(`the patch is stale: ${file} holds ${parts.length - 1} times\n${find}`);
    writeFileSync(join(dir, file), parts.join(put));
  }
  return entry(join(dir, "src/main.ts"));
};
