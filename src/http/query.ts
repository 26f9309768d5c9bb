// Reads the query of a request: known members, each once, with clear errors.
import { refuse } from "../domain/api-errors.ts";

/**
 * The character that decoders write for bytes that are not UTF-8. A text that contains it may have been sent as another one, so it
 * never selects anything.
 */
export const REPLACEMENT = "\uFFFD";

/** The text of a name or a value of a query; undefined if it is no percent-encoded UTF-8. */
const decoded = (text: string): string | undefined => {
  try {
    const decodedText = decodeURIComponent(text.replaceAll("+", " "));
    return decodedText.includes(REPLACEMENT) ? undefined : decodedText;
  } catch {
    return undefined;
  }
};

/** @throws ApiError `invalid_request` for a member that is no percent-encoded UTF-8 */
export const requireDecoded = (query: string): void => {
  if (!query.includes("%")) return;
  for (const member of query.split("&")) {
    const [name = "", ...values] = member.split("=");
    if (decoded(name) !== undefined && decoded(values.join("=")) !== undefined) continue;
    const shown = decoded(name)?.slice(0, 80) ?? "query";
    refuse("invalid_request", `${shown}: must be UTF-8 in percent-encoding; write a percent sign as %25.`);
  }
};

/**
 * Parses the query alone. Over HTTP/1.0 without a Host the URL of the runtime has no origin and cannot be parsed.
 * @throws ApiError `invalid_request` for a member that is no percent-encoded UTF-8
 */
export const queryOf = (request: Request): URLSearchParams => {
  const at = request.url.indexOf("?");
  const query = at === -1 ? "" : request.url.slice(at + 1);
  requireDecoded(query);
  return new URLSearchParams(query);
};

/** The `limit` of lists. */
export const LIST_LIMIT = { min: 1, max: 100, byDefault: 20 } as const;

/**
 * The members of a query by name.
 * @param isOther whether a member is read elsewhere, such as `metadata[order]`
 * @throws ApiError `invalid_request` for an unknown and for a repeated member */
export const readQuery = <Name extends string>(
  request: Request,
  names: readonly Name[],
  isOther: (name: string) => boolean = () => false,
): { [name in Name]?: string } => {
  const members: { [name in Name]?: string } = {};
  for (const [sent, value] of queryOf(request)) {
    if (isOther(sent)) continue;
    const name = names.find((one) => one === sent);
    if (name === undefined)
      return refuse(
        "invalid_request",
        `${JSON.stringify(sent.slice(0, 80))}: unknown; the query takes ${names.join(", ") || "nothing"}.`,
      );
    if (members[name] !== undefined) refuse("invalid_request", `${name}: is given twice; send it once.`);
    members[name] = value;
  }
  return members;
};

/** A member that is one of some words; null if absent. */
export const wordIn = <Word extends string>(name: string, value: string | undefined, words: readonly Word[]): Word | null => {
  if (value === undefined) return null;
  return (
    words.find((word) => word === value) ??
    refuse("invalid_request", `${name}: must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}.`)
  );
};

/** A whole number in a range. */
export const integerIn = (
  name: string,
  value: string | undefined,
  { min, max, byDefault }: { min: number; max: number; byDefault: number },
): number => {
  if (value === undefined) return byDefault;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  return number >= min && number <= max
    ? number
    : refuse("invalid_request", `${name}: must be a whole number from ${min} to ${max}.`);
};

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** A time in milliseconds since 1970; null if absent. */
export const timeIn = (name: string, value: string | undefined): number | null => {
  if (value === undefined) return null;
  const [, year, month, day] = DATE_TIME.exec(value) ?? [];
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const ms = isDay ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms)
    ? refuse("invalid_request", `${name}: must be a date and time as 2026-10-19T12:00:00Z; write + as %2B in a query.`)
    : ms;
};
