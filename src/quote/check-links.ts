// Checks how a media URL is written (§2.6, §8); where it leads is for the guard in src/media to find out.
import { BOUNDS } from "../../catalogue/fields.ts";
import { countCodePoints, nameType } from "./describe-values.ts";

/** Whether the operator allows a host (`host:port`, port always stated) over http, on any port. */
export type AllowsHost = (host: string) => boolean;

/** Browsers drop or rewrite these while they parse a URL, so that what is checked would not be what was sent. */
const REWRITTEN = /[\s\\\p{Cc}]/u;

/** What is wrong with a media URL, without naming it; undefined when nothing is. */
export const linkFault = (link: unknown, allowsHost: AllowsHost): string | undefined => {
  if (typeof link !== "string") return `must be a URL, not ${nameType(link)}`;
  if (link === "") return "must not be empty; leave the field out";
  if (!link.isWellFormed()) return "is not well-formed Unicode: it holds half of a surrogate pair";
  const length = countCodePoints(link);
  if (length > BOUNDS.linkLength) return `${length} characters are too many; at most ${BOUNDS.linkLength}`;
  if (REWRITTEN.test(link)) return "must hold no white space, control character or backslash";
  const url = /^https?:\/\/[^/]/i.test(link) ? URL.parse(link) : null;
  if (!url) return "must be a public https URL";
  if (url.username !== "" || url.password !== "") return "must hold no user name or password";
  if (url.hostname.endsWith(".")) return "must name its host without a dot at the end";
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (url.protocol === "https:" && port === "443") return undefined;
  if (allowsHost(`${url.hostname}:${port}`)) return undefined;
  return url.protocol === "https:" ? `must use port 443, not ${port}` : "must be a public https URL, not http";
};
