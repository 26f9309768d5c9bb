// Reference values and hashes of the committed files: `expected.json`, which `keep.ts` writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reference } from "./reference.ts";

export type ExpectedFile = Reference & { sha256: string };
/** `madeBy`: the versions of the tools that made the files and measured them. */
export type Expected = { madeBy: string[]; files: Record<string, ExpectedFile> };

export const EXPECTED_PATH = join(import.meta.dir, "expected.json");
export const readExpected = (): Expected => JSON.parse(readFileSync(EXPECTED_PATH, "utf8"));
export const sha256Of = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
