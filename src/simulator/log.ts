// The log of what arrived: one JSON line each, on disk before anyone is answered; lines that come together share one sync.

import { existsSync, readFileSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { JsonObject } from "../domain/types.ts";
import type { Faults } from "./faults.ts";

/** A submission as it arrived. `at` is ISO 8601; hashes are lower-case hex. */
export type Submission = {
  type: "submission";
  at: string;
  provider: string;
  endpoint: string;
  /** The job that was made, also when the answer never left; null when nothing was accepted. */
  job_id: string | null;
  /** The caller's own mark: `end_user_id` of the body, else a header that carries one, else null. */
  ref: string | null;
  body_sha256: string;
  accepted: boolean;
  /** First 16 digits of the SHA-256 of the credential; null without one. */
  key_hash: string | null;
  input: JsonObject | null;
  faults: Faults;
  /** What the caller was sent, or `drop`, `hang`. */
  answer: number | "drop" | "hang" | "cut";
  /** How the job runs, so that a later process carries on with it. */
  plan?: { queued_ms: number; total_ms: number | null; seed: number };
};
/** The first time a result was announced, a whole file fetched, or a job asked to stop. */
export type Incident = { type: "announced" | "fetched" | "cancelled"; at: string; provider: string; job_id: string };
export type LogLine = Submission | Incident;

const readLine = (line: string): LogLine[] => {
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return [];
  }
};

/** Lines written by a former process. A last line that was cut short is taken off; one that cannot be read is passed over. */
const readLines = (path: string): LogLine[] => {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) truncateSync(path, whole);
  return bytes.subarray(0, whole).toString("utf8").split("\n").flatMap(readLine);
};

export type Log = {
  /** All lines that are safe, those of former processes first. */
  lines(): readonly LogLine[];
  /** Resolves once the line is on disk. */
  append(line: LogLine): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens or continues a log; `null` keeps it in memory only.
 * @throws the file system's error when the file cannot be opened.
 */
export const openLog = async (path: string | null): Promise<Log> => {
  if (path === null) {
    const lines: LogLine[] = [];
    return { lines: () => lines, append: async (line) => void lines.push(line), close: async () => {} };
  }
  const lines = readLines(path);
  const file: FileHandle = await open(path, "a");
  // A new file's name is safe only once its directory is.
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
