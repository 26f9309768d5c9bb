// Parses the headers that attach metadata and an end user to a generation.
import { refuse } from "../domain/api-errors.ts";
import { MAX_END_USER_CHARS } from "../domain/end-users.ts";
import type { Json, Labels } from "../domain/types.ts";
import { readHeader } from "./header-text.ts";
import { REPLACEMENT } from "./query.ts";

const METADATA = "Genrouter-Metadata";
const END_USER = "Genrouter-End-User";
const BYTES_AT_MOST = 4_096;
const MEMBERS_AT_MOST = 16;
const NAME_AT_MOST = 40;
const VALUE_AT_MOST = 500;

const SHAPE = `a JSON object in ASCII with at most ${MEMBERS_AT_MOST} members: names of 1 to ${NAME_AT_MOST} characters, and strings of at most ${VALUE_AT_MOST} characters`;

const refuseMetadata = (why: string): never => refuse("invalid_request", `${METADATA}: ${why}; it is ${SHAPE}.`);
/** Characters, not code units. */
const lengthOf = (text: string): number => [...text].length;
/** Neither database can store a NUL or an unpaired surrogate. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

const parsedOf = (raw: string): Json => {
  try {
    return JSON.parse(raw) as Json;
  } catch {
    return refuseMetadata("is not JSON");
  }
};

/** @throws ApiError `invalid_request` */
const metadataOf = (raw: string): Record<string, string> => {
  if (raw.length > BYTES_AT_MOST) refuseMetadata(`has ${raw.length} bytes, more than ${BYTES_AT_MOST}`);
  if (!/^[\x20-\x7e\t]*$/.test(raw)) refuseMetadata("is not ASCII; write other characters as \\u escapes");
  const value = parsedOf(raw);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuseMetadata("is not an object");
  const members = Object.entries(value);
  if (members.length > MEMBERS_AT_MOST) refuseMetadata(`has ${members.length} members`);
  return Object.fromEntries(
    members.map(([name, text]): [string, string] => {
      const shown = JSON.stringify(name.slice(0, NAME_AT_MOST));
      if (name === "" || lengthOf(name) > NAME_AT_MOST) refuseMetadata(`the name ${shown} has ${lengthOf(name)} characters`);
      if (typeof text !== "string") return refuseMetadata(`the value of ${shown} is not a string`);
      if (lengthOf(text) > VALUE_AT_MOST) refuseMetadata(`the value of ${shown} has ${lengthOf(text)} characters`);
      if (!isStorable(name) || !isStorable(text)) refuseMetadata(`${shown} contains a NUL or an unpaired surrogate`);
      return [name, text];
    }),
  );
};

/** @throws ApiError `invalid_request` */
const endUserOf = (raw: string): string => {
  const name = readHeader(raw);
  if (name === "" || lengthOf(name) > MAX_END_USER_CHARS)
    refuse("invalid_request", `${END_USER}: must have 1 to ${MAX_END_USER_CHARS} characters.`);
  if (name.includes(REPLACEMENT)) refuse("invalid_request", `${END_USER}: must be UTF-8; it has the replacement character.`);
  return name;
};

const MEMBER = /^metadata\[(.*)\]$/s;
/** Whether a member of a query is a filter by metadata, such as `metadata[order]`. */
export const isMetadataMember = (name: string): boolean => MEMBER.test(name);

/** The metadata that a query requires, as `[name, value]`. @throws ApiError `invalid_request` */
export const metadataIn = (query: URLSearchParams): [name: string, value: string][] => {
  const wanted = new Map<string, string>();
  for (const [member, value] of query) {
    const name = MEMBER.exec(member)?.[1];
    if (name === undefined) continue;
    const shown = member.slice(0, NAME_AT_MOST + 12);
    if (name === "" || lengthOf(name) > NAME_AT_MOST)
      refuse("invalid_request", `${shown}: the name must have 1 to ${NAME_AT_MOST} characters.`);
    if (lengthOf(value) > VALUE_AT_MOST || !isStorable(name) || !isStorable(value))
      refuse("invalid_request", `${shown}: must have at most ${VALUE_AT_MOST} characters without NUL.`);
    if (wanted.has(name)) refuse("invalid_request", `${shown}: is given twice; send it once.`);
    wanted.set(name, value);
  }
  if (wanted.size > MEMBERS_AT_MOST) refuse("invalid_request", `metadata: at most ${MEMBERS_AT_MOST} names are allowed.`);
  return [...wanted];
};

/** Metadata and end user of a request; undefined without both. @throws ApiError `invalid_request` for a malformed or long header */
export const labelsOf = ({ headers }: Request): Labels | undefined => {
  const metadata = headers.get(METADATA);
  const endUser = headers.get(END_USER);
  if (metadata === null && endUser === null) return undefined;
  return {
    metadata: metadata === null ? null : metadataOf(metadata),
    endUser: endUser === null ? null : endUserOf(endUser),
  };
};
