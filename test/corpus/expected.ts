// What ffmpeg and ffprobe found of the kept files, and of which bytes: `expected.json`, written by `keep.ts`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reference } from "./reference.ts";

export type ExpectedFile = Reference & { sha256: string };
/** `madeBy`: the versions of the tools that made the files and measured them. */
export type Expected = { madeBy: string[]; files: Record<string, ExpectedFile> };

export const EXPECTED_PATH = join(import.meta.dir, "expected.json");
export const readExpected = (): Expected => JSON.parse(readFileSync(EXPECTED_PATH, "utf8"));
export const sha256Of = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
