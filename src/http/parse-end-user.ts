// Parses the id of an end user and the body that sets its limit.
import { refuse } from "../domain/api-errors.ts";
import { END_USER_WINDOWS, type EndUserLimit, type EndUserWindow, MAX_END_USER_CHARS } from "../domain/end-users.ts";
import type { Json } from "../domain/types.ts";
import { parseJson } from "./body.ts";

const FIELDS = ["limit_usd", "window"];
/** 10^9 credits, the maximum balance. */
const MAX_USD = 10_000_000;
const WINDOWS = `${END_USER_WINDOWS.slice(0, -1).join(", ")} or ${END_USER_WINDOWS.at(-1)}`;

const isWindow = (value: Json | undefined): value is EndUserWindow => END_USER_WINDOWS.some((window) => window === value);

/** What the value of a header cannot have, so that no submission could name such an end user. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to reject
const NOT_IN_HEADER = /^[ \t]|[ \t]$|[\0-\x08\x0a-\x1f\x7f]/;

const requireEndUser = (id: string): string =>
  [...id].length > MAX_END_USER_CHARS || !id.isWellFormed() || NOT_IN_HEADER.test(id)
    ? refuse(
        "invalid_request",
        `id: must have 1 to ${MAX_END_USER_CHARS} characters, without control characters and without spaces at its ends.`,
      )
    : id;

/** Whole cents, because a limit is compared with whole credits. */
const creditsOf = (value: Json | undefined): number => {
  const credits = typeof value === "number" ? Math.round(value * 100) : Number.NaN;
  return typeof value === "number" && value >= 0 && value <= MAX_USD && credits / 100 === value
    ? credits
    : refuse(
        "invalid_request",
        `limit_usd: must be an amount from 0 to ${MAX_USD} with at most two decimals, or null for no limit.`,
      );
};

/** @throws ApiError `invalid_request` with the field and what is allowed */
export const parseEndUserLimit = (id: string, bytes: Uint8Array): { endUser: string; limit: EndUserLimit | null } => {
  const endUser = requireEndUser(id);
  const { value } = parseJson(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("invalid_request", "The body must be a JSON object.");
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined)
    refuse("invalid_request", `${JSON.stringify(unknown.slice(0, 80))}: unknown; the fields are ${FIELDS.join(", ")}.`);
  const { limit_usd: limitUsd, window } = value;
  if (limitUsd === undefined)
    return refuse("invalid_request", "limit_usd: is required; it must be an amount, or null for no limit.");
  if (limitUsd === null) {
    if (window !== undefined && window !== null) refuse("invalid_request", "window: must be absent where limit_usd is null.");
    return { endUser, limit: null };
  }
  const credits = creditsOf(limitUsd);
  if (!isWindow(window)) return refuse("invalid_request", `window: must be ${WINDOWS}.`);
  return { endUser, limit: { window, credits } };
};
