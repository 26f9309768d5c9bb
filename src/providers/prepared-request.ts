// Composed requests: reads them back byte for byte and inserts pinned inputs.
import { ok } from "node:assert/strict";
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Json } from "../domain/types.ts";
import { linkAt, withLinks } from "../inputs/pinned-links.ts";
import { unknownCopy } from "./list-match.ts";
import type { ProviderRequest, Work } from "./port.ts";
import { fill, isUploadUrl, type OpenCopy } from "./uploads.ts";

/** Opens a file that is inserted into a request of a generation when it is sent; undefined if the file is deleted. */
export type CopyOf = (generationId: string, copy: Parameters<OpenCopy>[0]) => ReturnType<OpenCopy>;

const composedRequest = Type.Object(
  {
    method: Type.Literal("POST"),
    url: Type.String({ minLength: 1 }),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Optional(Type.Unsafe<Json>(Type.Unknown())),
    form: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** The replacements of pinned inputs in the request, by link. */
    given: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);
const composed = TypeCompiler.Compile(composedRequest);
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

/** The request as it is sent, with its files inserted; undefined if a file is deleted. */
export const wholeRequest = async (
  text: string | null,
  ref: string,
  copyOf: CopyOf | undefined,
): Promise<ProviderRequest | undefined> => {
  const { given, ...request } = readComposed(text, ref);
  if (given === undefined) return request;
  return fill(request, Object.values(given).filter(isUploadUrl), async (copy) => copyOf?.(generationOf(ref), copy));
};
