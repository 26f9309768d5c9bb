// Checks the syntax of a media URL (§2.6, §8); src/media/ssrf-guard.ts checks its target.
import { BOUNDS } from "../../catalogue/fields.ts";
import { countCodePoints, nameType } from "./describe-values.ts";

/** Whether the operator allows a host (`host:port` with an explicit port) over http and on any port. */
export type AllowsHost = (host: string) => boolean;

/** Characters that URL parsers drop or rewrite, so that the checked URL would differ from the sent one. */
const REWRITTEN = /[\s\\\p{Cc}]/u;

/** The violation of a media URL, without its name; undefined if valid. */
export const linkFault = (link: unknown, allowsHost: AllowsHost): string | undefined => {
  if (typeof link !== "string") return `must be a URL, not ${nameType(link)}`;
  if (link === "") return "must not be empty; omit the field";
  if (!link.isWellFormed()) return "contains an unpaired surrogate";
  const length = countCodePoints(link);
  if (length > BOUNDS.linkLength) return `${length} characters are too many; at most ${BOUNDS.linkLength}`;
  if (REWRITTEN.test(link)) return "must not contain white space, control characters or backslashes";
  const url = /^https?:\/\/[^/]/i.test(link) ? URL.parse(link) : null;
  if (!url) return "must be a public https URL";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  if (url.hostname.endsWith(".")) return "must not have a dot at the end of its host";
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (url.protocol === "https:" && port === "443") return undefined;
  if (allowsHost(`${url.hostname}:${port}`)) return undefined;
  return url.protocol === "https:" ? `must use port 443, not ${port}` : "must be a public https URL, not http";
};

/** A character of a URL that `REWRITTEN` does not match, and one of its host, in the syntax that most engines share. */
const KEPT = "\\s\\\\\\x00-\\x1f\\x7f-\\x9f";
const HOST = `(?:\\[[0-9A-Fa-f:.]+\\]|[^${KEPT}@/?#:\\[\\]<>^|.](?:[^${KEPT}@/?#:\\[\\]<>^|]*[^${KEPT}@/?#:\\[\\]<>^|.])?)`;
const REST = `(?:[/?#][^${KEPT}]*)?$`;

/**
 * The rules of `linkFault` as a pattern of a JSON Schema. A pattern cannot decide whether the name of a host is valid.
 * @param hasAllowedHosts whether the operator allows any host; only then http and other ports can be valid
 */
export const linkPattern = (hasAllowedHosts: boolean): string =>
  hasAllowedHosts
    ? `^[Hh][Tt][Tt][Pp][Ss]?://(?::?@)?${HOST}(?::[0-9]{0,5})?${REST}`
    : `^[Hh][Tt][Tt][Pp][Ss]://(?::?@)?${HOST}(?::(?:0*443)?)?${REST}`;
