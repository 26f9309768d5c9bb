// Composed requests: reads them back byte for byte and opens the files that they contain.
import { ok } from "node:assert/strict";
import { type Static, Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { FileBytes, InputFile, Json, PinnedCopy } from "../domain/types.ts";
import { linkAt, withLinks } from "../inputs/pinned-links.ts";
import { unknownCopy } from "./list-match.ts";
import type { ProviderRequest, Work } from "./port.ts";
import { type Placeholder, readPlaceholder } from "./request-body.ts";

/** A file that a provider receives: our copy of a pinned input, or a stored file that the input names. */
export type InputSource = { generationId: string; copy: PinnedCopy } | { file: InputFile };
/** Opens such a file; undefined if it is deleted. @throws StorageRefused */
export type OpenInput = (source: InputSource) => Promise<FileBytes | undefined>;

const composedRequest = Type.Object(
  {
    method: Type.Literal("POST"),
    url: Type.String({ minLength: 1 }),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Optional(Type.Unsafe<Json>(Type.Unknown())),
    form: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** The replacements of pinned inputs and stored files in the request, by link. */
    given: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);
const composed = schemaCheck(composedRequest);
type Composed = Static<typeof composedRequest>;

const generationOf = (ref: string): string => `gen_${ref.slice(0, ref.lastIndexOf("-"))}`;
/**
 * The input with the replacement that the provider receives for each pinned link and each stored file. For a sent attempt the request contains the
 * replacements. For an attempt that another process may have sent before a restore from backup, only the identity of the copies
 * is known.
 */
export const givenInput = ({ attempt: { ref, request }, input, pins = [], files = [], given }: Work): Work["input"] => {
  const inputs = [...pins, ...files];
  if (inputs.length === 0 && given === undefined) return input;
  const links = given ?? (request === null ? undefined : readComposed(request, ref).given);
  if (links !== undefined) return withLinks(input, links);
  const unknown = inputs.flatMap(({ n, field }) => {
    const link = linkAt(input.raw, field);
    return link === undefined ? [] : [[link, unknownCopy(ref, n)] as const];
  });
  return withLinks(input, Object.fromEntries(unknown));
};

/** Parses a stored request. JSON.stringify writes its own output again as the same bytes. */
export const readComposed = (text: string | null, ref: string): Composed => {
  ok(text !== null, `attempt ${ref} is sent but its request was never written down`);
  const request: unknown = JSON.parse(text);
  ok(composed.Check(request), `the request of attempt ${ref} is not one that was composed here`);
  return request;
};

/** The file that a placeholder names by number and hash; undefined if the generation has no such file. */
const sourceOf = ({ attempt, pins = [], files = [] }: Work, { n, sha256 }: Placeholder): InputSource | undefined => {
  const file = files.find((one) => one.n === n && one.sha256 === sha256);
  if (file) return { file };
  const copy = pins.find((pin) => pin.n === n)?.copy;
  return copy?.sha256 === sha256 ? { generationId: generationOf(attempt.ref), copy } : undefined;
};

/**
 * The request as it is sent, with the files that it contains opened; undefined if one of them is deleted. The bytes are the same
 * each time, because a placeholder identifies its file by hash.
 */
export const wholeRequest = async (task: Work, open: OpenInput | undefined): Promise<ProviderRequest | undefined> => {
  const { ref, request: text } = task.attempt;
  const { given = {}, ...request } = readComposed(text, ref);
  const files = new Map<string, FileBytes>();
  for (const place of Object.values(given)) {
    const named = readPlaceholder(place);
    if (named === undefined) continue;
    const source = sourceOf(task, named);
    const file = source && (await open?.(source));
    if (!file) return undefined;
    files.set(place, file);
  }
  return files.size === 0 ? request : { ...request, files };
};
