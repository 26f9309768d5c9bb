// Recognizes the stored files of this service in an input: by short form, or by a link of its own origin.
import { BOUNDS } from "../../catalogue/fields.ts";

/** `proof`: the signature of a link; null for the short form, which only the owner of the file can use. */
export type OwnLink = {
  of: "upload" | "result";
  id: string;
  n: number;
  proof: { exp: string; kid: string; sig: string } | null;
};

const SHORT_FILE = /^file_[0-9a-z]{1,76}$/;
const SHORT_RESULT = /^(gen_[0-9a-z]{1,76})\/([1-9][0-9]?)$/;
/** The path of a signed link; it can end in the extension of the file. */
const PATH = /^\/files\/((file|gen)_[0-9a-z]{1,76})\/([1-9][0-9]?)(?:\.[0-9a-z]{1,5})?$/;

const shortForm = (text: string): OwnLink | undefined => {
  if (SHORT_FILE.test(text)) return { of: "upload", id: text, n: 1, proof: null };
  const [, id, n] = SHORT_RESULT.exec(text) ?? [];
  return id === undefined ? undefined : { of: "result", id, n: Number(n), proof: null };
};

/** Whether a text is the short form of a stored file: `file_…` or `gen_…/1`. */
export const isShortForm = (text: string): boolean => shortForm(text) !== undefined;

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

export type ReadOwnLink = (text: string) => OwnLink | undefined;

/** @param origins URLs of this service: `server.public_url` and the listening address, as far as they are known */
export const createOwnLinks =
  (origins: () => readonly string[]): ReadOwnLink =>
  (text) => {
    if (text.length > BOUNDS.linkLength) return undefined;
    const short = shortForm(text);
    if (short) return short;
    const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    if (url === null || url.username !== "" || url.password !== "") return undefined;
    if (!origins().some((own) => originOf(own) === url.origin)) return undefined;
    const [, id, kind, n] = PATH.exec(url.pathname) ?? [];
    if (id === undefined) return undefined;
    const [exp = "", kid = "", sig = ""] = ["exp", "kid", "sig"].map((name) => url.searchParams.get(name) ?? "");
    return { of: kind === "file" ? "upload" : "result", id, n: Number(n), proof: { exp, kid, sig } };
  };
