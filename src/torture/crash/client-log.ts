// Log of the crash client: intents and responses, each synced before the next step.
import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { JsonObject } from "../../domain/types.ts";

export type ClientLine =
  /** Written before the request is sent. */
  | { type: "intent"; key: string; account: number; hash: string; body: JsonObject }
  /** A response. `id` for 200 and 202, `code` for the others. */
  | { type: "ack"; key: string; account: number; hash: string; status: number; id: string | null; code: string | null }
  /** A cancellation or a deletion, written before it is sent with `status` null, and again with the response. */
  | { type: "cancel" | "delete"; account: number; id: string; status: number | null; code: string | null; atMs: number }
  /** A generation was seen ended; `resource` as the API returned it, without its links, which differ in each response. */
  | { type: "seen"; account: number; id: string; resource: JsonObject };

export const openClientLog = (path: string) => {
  const file = openSync(path, "a");
  // The name of a new file is durable only after an fsync of its directory.
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
  return {
    write: (line: ClientLine): void => {
      writeSync(file, `${JSON.stringify(line)}\n`);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
};
export type ClientLog = ReturnType<typeof openClientLog>;

export const readClientLog = (path: string): ClientLine[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ClientLine);

/** A resource without its links. */
export const withoutLinks = (resource: JsonObject): JsonObject => {
  const { output } = resource;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return resource;
  const { urls, ...rest } = output;
  return { ...resource, output: { ...rest, files: Array.isArray(urls) ? urls.length : 0 } };
};
