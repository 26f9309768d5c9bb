// Downloading a result by its short-lived link, without a key: GET /files/{generation}/{n}, outside /v1.
import type { Links } from "../files/links.ts";
import { seqOfGenerationId } from "../ids.ts";
import { refuse } from "../refusal.ts";
import type { StoreReads } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { answerFile, type Shelf } from "./content.ts";

const POSITION = /^[1-9][0-9]?$/;

/**
 * A link that is over or was altered is 403: the address may well exist, this signature does not open it. The code is
 * `not_found`, not `unauthorized`: no API key is at fault, so a client must not be told to change its key.
 */
const closed = (message: string) => refuse("not_found", message, { status: 403 });

/** The query alone: over HTTP/1.0 without a Host the runtime's URL has no origin and cannot be parsed. */
const queryOf = (request: Request): URLSearchParams => {
  const at = request.url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : request.url.slice(at + 1));
};

/** Answers a file to whoever holds a good link. Browsers of any site may show it; it names nobody. */
export const linkedFile =
  (links: Links, reads: Pick<StoreReads, "generationBySeq">, shelf: Shelf, storeOpen: () => boolean): Answer =>
  async (request, requestId, params) => {
    if (!storeOpen()) refuse("restarting", "The service is starting; send the same request again.");
    const { id = "", n = "" } = params;
    const seq = seqOfGenerationId(id);
    if (seq === undefined || !POSITION.test(n)) return refuse("not_found", "No file has this address.");
    const query = queryOf(request);
    const exp = query.get("exp") ?? "";
    const verdict = links.check(id, Number(n), exp, query.get("kid") ?? "", query.get("sig") ?? "");
    if (verdict === "expired") return closed("This link has expired; poll the generation for a new one.");
    if (verdict === "bad") return closed("This link is not valid; poll the generation for one that is.");
    const record = await reads.generationBySeq(seq);
    if (record === undefined || record.id !== id) return refuse("not_found", "No file has this address.");
    const response = await answerFile(shelf, record, Number(n), request, requestId, Number(exp) * 1000);
    response.headers.set("cross-origin-resource-policy", "cross-origin");
    response.headers.set("referrer-policy", "no-referrer");
    return response;
  };
