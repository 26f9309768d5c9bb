// Uploads the local files that media fields of an input name, and replaces their paths by the ids of the files.
import { statSync } from "node:fs";
import { basename } from "node:path";
import { MEDIA_FIELDS } from "../../catalogue/fields.ts";
import type { Client, UploadedFile } from "../../client/src/client.ts";
import type { Json, JsonObject } from "../domain/types.ts";
import { isShortForm } from "../inputs/own-links.ts";
import { CommandError, EXITS } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** Number of uploaded files that are searched for the same content. */
const KNOWN_FILES = 100;
const MEGABYTE = 1_000_000;

const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(text);
/** A text that can only be meant as a path. */
const isPathLike = (text: string): boolean =>
  /^(?:\.{0,2}\/|~)|\.(?:png|jpe?g|webp|gif|mp4|mov|webm|mkv|mp3|wav|flac|ogg|m4a|aac)$/i.test(text);
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const mediaIn = (input: JsonObject): [field: string, value: string][] =>
  Object.entries(input).flatMap(([name, value]) => {
    if (!Object.hasOwn(MEDIA_FIELDS, name)) return [];
    const all: Json[] = Array.isArray(value) ? value : [value];
    return all.flatMap((one): [string, string][] => (typeof one === "string" ? [[name, one]] : []));
  });

/**
 * The distinct paths of local files in the media fields of an input.
 * @throws CommandError (usage) for a path without a file
 */
export const localPathsIn = (input: JsonObject): string[] => {
  const paths = new Set<string>();
  for (const [field, value] of mediaIn(input)) {
    if (isUrl(value) || isShortForm(value)) continue;
    if (isFile(value)) paths.add(value);
    else if (isPathLike(value))
      throw new CommandError(EXITS.usage, `--${field.replaceAll("_", "-")}: ${value} is not a file`, {
        fix: "pass the path of a local file, an https URL, or the id of an uploaded file",
        code: "bad_flag",
      });
  }
  return [...paths];
};

const sha256Of = async (file: Blob): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest("hex");
};

type UploadDeps = { client: Pick<Client, "upload">; terminal: Terminal; signal: AbortSignal };

type InputDeps = UploadDeps & { client: Pick<Client, "files"> };

/** Uploads a local file and shows the progress. */
export const uploadFile = async (path: string, { client, terminal, signal }: UploadDeps): Promise<UploadedFile> => {
  const file = Bun.file(path);
  const totalMb = (file.size / MEGABYTE).toFixed(1);
  const onBytes = (bytes: number) =>
    terminal.progress(`uploading ${basename(path)}  ${(bytes / MEGABYTE).toFixed(1)} of ${totalMb} MB`);
  const uploaded = await client.upload(file, { signal, ...(terminal.isLive ? { onBytes } : {}) });
  terminal.progress(null);
  return uploaded;
};

const uploadInput = async (path: string, deps: UploadDeps): Promise<string> => {
  const { id } = await uploadFile(path, deps);
  deps.terminal.note(`${id}  uploaded ${basename(path)}`);
  return id;
};

/**
 * Uploads each path once. A file that the account has uploaded already is not sent again, so that a repeated command with an
 * idempotency key sends the same request.
 * @returns the input with the ids of the files
 */
export const uploadPaths = async (input: JsonObject, paths: readonly string[], deps: InputDeps): Promise<JsonObject> => {
  const { data } = await deps.client.files({ limit: KNOWN_FILES, signal: deps.signal });
  // The oldest of several, which stays the same while newer ones are added.
  const known = new Map(data.map(({ sha256, id }) => [sha256, id]));
  const ids = new Map<string, string>();
  for (const path of paths) ids.set(path, known.get(await sha256Of(Bun.file(path))) ?? (await uploadInput(path, deps)));
  const replaced = (value: Json): Json => (typeof value === "string" ? (ids.get(value) ?? value) : value);
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (!Object.hasOwn(MEDIA_FIELDS, name)) return [name, value];
      return [name, Array.isArray(value) ? value.map(replaced) : replaced(value)];
    }),
  );
};
