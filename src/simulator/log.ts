// Log of submissions: one JSON line each, on disk before the response.
//
// Concurrent lines share one fsync.

import { existsSync, readFileSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { JsonObject } from "../domain/types.ts";
import type { Faults } from "./faults.ts";

/** A received submission. `at` is ISO 8601; hashes are in lower-case hex. */
export type Submission = {
  type: "submission";
  at: string;
  provider: string;
  endpoint: string;
  /** The accepted job, even if no response was sent; null if nothing was accepted. */
  job_id: string | null;
  /** The client's reference: `end_user_id` of the body, else the header that carries one, else null. */
  ref: string | null;
  body_sha256: string;
  accepted: boolean;
  /** First 16 digits of the SHA-256 of the credential; null without a credential. */
  key_hash: string | null;
  input: JsonObject | null;
  faults: Faults;
  /** The status that the client received, or `drop`, `hang` or `cut`. */
  answer: number | "drop" | "hang" | "cut";
  /** The job's plan, so that a later process continues it. */
  plan?: { queued_ms: number; total_ms: number | null; seed: number };
};
/** The first announcement of a result, the first complete download of a file, or a cancellation. */
export type Incident = { type: "announced" | "fetched" | "cancelled"; at: string; provider: string; job_id: string };
export type LogLine = Submission | Incident;

const readLine = (line: string): LogLine[] => {
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return [];
  }
};

/** Lines of former processes. An incomplete last line is truncated; an unreadable line is skipped. */
const readLines = (path: string): LogLine[] => {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) truncateSync(path, whole);
  return bytes.subarray(0, whole).toString("utf8").split("\n").flatMap(readLine);
};

export type Log = {
  /** All durable lines, those of former processes first. */
  lines(): readonly LogLine[];
  /** Resolves once the line is on disk. */
  append(line: LogLine): Promise<void>;
  close(): Promise<void>;
};

/** Opens or continues a log; `null` keeps it in memory only. @throws the file system's error if the file cannot be opened. */
export const openLog = async (path: string | null): Promise<Log> => {
  if (path === null) {
    const lines: LogLine[] = [];
    return { lines: () => lines, append: async (line) => void lines.push(line), close: async () => {} };
  }
  const lines = readLines(path);
  const file: FileHandle = await open(path, "a");
  // The name of a new file is durable only after an fsync of its directory.
  const folder = await open(dirname(path), "r");
  await folder.sync();
  await folder.close();
  let waiting: { line: LogLine; done: () => void; failed: (cause: unknown) => void }[] = [];
  let writing: Promise<void> | undefined;

  const drain = async () => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await file.appendFile(batch.map(({ line }) => `${JSON.stringify(line)}\n`).join(""));
        await file.datasync();
        for (const { line, done } of batch) {
          lines.push(line);
          done();
        }
      } catch (cause) {
        for (const { failed } of batch) failed(cause);
      }
    }
    writing = undefined;
  };

  return {
    lines: () => lines,
    append: (line) =>
      new Promise((done, failed) => {
        waiting.push({ line, done, failed });
        writing ??= drain();
      }),
    close: async () => {
      await writing;
      await file.close();
    },
  };
};
