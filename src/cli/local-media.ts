// Uploads the local files that media fields of an input name, and replaces their paths by the ids of the files.
import { statSync } from "node:fs";
import { basename } from "node:path";
import { MEDIA_FIELDS } from "../../catalogue/fields.ts";
import { type Client, GenrouterError, type UploadedFile } from "../../client/src/client.ts";
import type { Json, JsonObject } from "../domain/types.ts";
import { isShortForm } from "../inputs/own-links.ts";
import { CommandError, EXITS } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** Number of uploaded files that are searched for the same content. */
const KNOWN_FILES = 100;
/** Remaining retention that a file needs to be used again, ms: the time in which other files are uploaded. */
const LEAST_LEFT_MS = 3_600_000;
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

type InputDeps = UploadDeps & { client: Pick<Client, "files" | "file"> };

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

/** The ids of uploaded files by their SHA-256, without those that expire soon. */
const knownFiles = async ({ client, signal }: InputDeps): Promise<Map<string, string>> => {
  const { data } = await client.files({ limit: KNOWN_FILES, signal });
  const kept = data.filter(({ expires_at: expiresAt }) => Date.parse(expiresAt) - Date.now() >= LEAST_LEFT_MS);
  // The oldest of several, which stays the same while newer ones are added.
  return new Map(kept.map(({ sha256, id }) => [sha256, id]));
};

/** Whether a file does not exist any more. */
const isGone = (id: string, { client, signal }: InputDeps): Promise<boolean> =>
  client.file(id, { signal }).then(
    () => false,
    (fault: unknown) => fault instanceof GenrouterError && fault.status === 404,
  );

const replacePaths = (input: JsonObject, ids: ReadonlyMap<string, string>): JsonObject => {
  const replaced = (value: Json): Json => (typeof value === "string" ? (ids.get(value) ?? value) : value);
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (!Object.hasOwn(MEDIA_FIELDS, name)) return [name, value];
      return [name, Array.isArray(value) ? value.map(replaced) : replaced(value)];
    }),
  );
};

/**
 * Uploads each path once, and submits the input with the ids of the files. A file that the account has uploaded already is not
 * sent again, so that a repeated command with an idempotency key sends the same request. If such a file was deleted before the
 * submission, it is uploaded again.
 */
export const submitWithFiles = async <T>(
  input: JsonObject,
  paths: readonly string[],
  deps: InputDeps,
  submit: (input: JsonObject) => Promise<T>,
): Promise<T> => {
  if (paths.length === 0) return submit(input);
  const known = await knownFiles(deps);
  const ids = new Map<string, string>();
  const reused = new Map<string, string>();
  for (const path of paths) {
    const id = known.get(await sha256Of(Bun.file(path)));
    if (id !== undefined) reused.set(path, id);
    ids.set(path, id ?? (await uploadInput(path, deps)));
  }
  try {
    return await submit(replacePaths(input, ids));
  } catch (fault) {
    if (!(fault instanceof GenrouterError) || fault.status !== 422) throw fault;
    let missing = 0;
    for (const [path, id] of reused)
      if (await isGone(id, deps)) {
        missing += 1;
        ids.set(path, await uploadInput(path, deps));
      }
    if (missing === 0) throw fault;
    return submit(replacePaths(input, ids));
  }
};
