// The stored files of this service that an input names: looked up, measured and numbered.
import type { AdmitGeneration } from "../domain/mutations.ts";
import type { Caller, InputFile, Measured, MediaLink } from "../domain/types.ts";
import type { OpenStored } from "../media/port.ts";
import type { OwnFile, OwnFiles } from "../uploads/own-files.ts";
import type { SubmitDeps } from "./submit.ts";

/** The stored files of an input, by link. */
export type FilesByLink = ReadonlyMap<string, OwnFile>;

/** The media of an input: the length and size of each link, and the stored files among the links. */
export type OpenedInputs = { measured: Measured[]; files: FilesByLink };

/** @throws ApiError `invalid_input` for the first link without a file that the account may use */
const findOwnFiles = async (links: readonly MediaLink[], caller: Caller, find: OwnFiles["find"]): Promise<FilesByLink> => {
  const files = new Map<string, OwnFile>();
  for (const link of links) {
    const found = link.isOwn ? await find(link, caller) : undefined;
    if (found) files.set(link.url, found);
  }
  return files;
};

type MeasureDeps = {
  measure: (links: readonly MediaLink[], account: string, stored?: ReadonlyMap<string, OpenStored>) => Promise<Measured[]>;
  /** Opens a stored file with the headers of a range request. */
  openStored: (file: OwnFile["file"]) => OpenStored;
};

/** Measures every link in order. Uploaded files were measured when they were uploaded; result files are read from storage. */
const measureInputs = async (
  { measure, openStored }: MeasureDeps,
  links: readonly MediaLink[],
  account: string,
  files: FilesByLink,
): Promise<Measured[]> => {
  const toMeasure = links.filter(({ url }) => files.get(url)?.measured === undefined);
  const stored = new Map([...files].map(([url, { file }]) => [url, openStored(file)]));
  const read = toMeasure.length === 0 ? [] : await measure(toMeasure, account, stored);
  return links.flatMap(({ field, url }) => {
    const uploaded = files.get(url)?.measured;
    if (uploaded) return { field, url, ...uploaded };
    const found = read.find((one) => one.field === field);
    const bytes = files.get(url)?.file.bytes;
    return found ? { ...found, ...(bytes === undefined ? {} : { bytes }) } : [];
  });
};

/** Looks up the stored files of an input and measures all its links. @throws ApiError `invalid_input`, `busy` */
export const openInputs = async (
  { measure, ownFiles }: Pick<SubmitDeps, "measure" | "ownFiles">,
  links: readonly MediaLink[],
  caller: Caller,
): Promise<OpenedInputs> => {
  const files = await findOwnFiles(links, caller, ownFiles.find);
  const measured = await measureInputs({ measure, openStored: ownFiles.open }, links, String(caller.accountSeq), files);
  return { measured, files };
};

/** The stored files in order, each once, numbered after the pinned links. */
const numbered = (links: readonly MediaLink[], files: FilesByLink, pins: number): InputFile[] => {
  const inputs: InputFile[] = [];
  const named = new Set<string>();
  for (const { field, url, kind } of links) {
    const own = files.get(url);
    if (!own || named.has(url)) continue;
    named.add(url);
    inputs.push({ n: pins + inputs.length + 1, field, kind, ...own.file });
  }
  return inputs;
};

/** @returns undefined without stored files. @param expireAtMs the new expiry of uploaded files */
export const inputFiles = (
  links: readonly MediaLink[],
  files: FilesByLink,
  pins: number,
  expireAtMs: number,
): AdmitGeneration["files"] => (files.size === 0 ? undefined : { inputs: numbered(links, files, pins), expireAtMs });
