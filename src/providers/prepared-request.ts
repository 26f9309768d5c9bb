// Requests as they are written down: read back byte for byte, with what was given in the places of pinned inputs.
import { ok } from "node:assert/strict";
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Json } from "../domain/types.ts";
import { linkAt, withLinks } from "../inputs/pinned-links.ts";
import { unknownCopy } from "./list-match.ts";
import type { ProviderRequest, Work } from "./port.ts";
import { fill, isUploadUrl, type OpenCopy } from "./uploads.ts";

/** The file that is put into a request of a generation when it is sent; undefined when it is gone. */
export type CopyOf = (generationId: string, copy: Parameters<OpenCopy>[0]) => ReturnType<OpenCopy>;

const composedRequest = Type.Object(
  {
    method: Type.Literal("POST"),
    url: Type.String({ minLength: 1 }),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Optional(Type.Unsafe<Json>(Type.Unknown())),
    form: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** What stands in it in the places of pinned inputs, by link. */
    given: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);
const composed = TypeCompiler.Compile(composedRequest);
type Composed = Static<typeof composedRequest>;

const generationOf = (ref: string): string => `gen_${ref.slice(0, ref.lastIndexOf("-"))}`;
/**
 * The input with what its provider is or was given in the places of pinned links. Of what was sent it stands in the request; of what
 * somebody else may have sent, before a backup was restored, only whose copies they are is known.
 */
export const givenInput = ({ attempt: { ref, request }, input, pins = [], given }: Work): Work["input"] => {
  if (pins.length === 0 && given === undefined) return input;
  const links = given ?? (request === null ? undefined : readComposed(request, ref).given);
  if (links !== undefined) return withLinks(input, links);
  const unknown = pins.flatMap(({ n, field }) => {
    const link = linkAt(input.raw, field);
    return link === undefined ? [] : [[link, unknownCopy(ref, n)] as const];
  });
  return withLinks(input, Object.fromEntries(unknown));
};

/** Reads a request back. What was written by JSON.stringify is written again by it as the same bytes. */
export const readComposed = (text: string | null, ref: string): Composed => {
  ok(text !== null, `attempt ${ref} is sent but its request was never written down`);
  const request: unknown = JSON.parse(text);
  ok(composed.Check(request), `the request of attempt ${ref} is not one that was composed here`);
  return request;
};

/** The request as it is sent, with the files in it that it has places for; undefined when one is gone. */
export const wholeRequest = async (
  text: string | null,
  ref: string,
  copyOf: CopyOf | undefined,
): Promise<ProviderRequest | undefined> => {
  const { given, ...request } = readComposed(text, ref);
  if (given === undefined) return request;
  return fill(request, Object.values(given).filter(isUploadUrl), async (copy) => copyOf?.(generationOf(ref), copy));
};
