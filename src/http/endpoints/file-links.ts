// Serves results and uploaded files by short-lived signed links without a key: GET /files/{id}/{n}, outside /v1.

import { ApiError, refuse } from "../../domain/api-errors.ts";
import type { Clock } from "../../domain/clock.ts";
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { Links } from "../../files/signed-links.ts";
import type { StoreReads } from "../../store/store.ts";
import { queryOf } from "../query.ts";
import { type Answer, type PathParams, preflight } from "../response.ts";
import { answerFile, type StoredResults } from "./content.ts";
import { answerUpload, type FilesDeps } from "./files.ts";

/** The position of a file, and its extension, which means nothing here. */
const POSITION = /^([1-9][0-9]?)(?:\.[0-9a-z]{1,5})?$/;
/** The id of an uploaded file. */
const UPLOAD = /^file_[0-9a-z]{1,76}$/;

/**
 * An expired or altered link is answered 403, because the file may exist and only the signature is invalid. The code is
 * `not_found`, not `unauthorized`, because no API key is at fault and a client must not replace its key.
 */
const closed = (message: string) => refuse("not_found", message, { status: 403 });

/**
 * A valid link authorizes any reader, including pages of other sites, because no cookie or key is involved. Apart from public
 * endpoints, no other endpoint is readable across origins.
 */
const READABLE = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Genrouter-Version, X-Request-Id",
};
/** Preflight response that lists the headers that a page may send. */
export const filePreflight: Answer = preflight("Content-Type, If-None-Match, If-Range, Range, X-Request-Id");

/** Makes errors readable across origins as well, so that a page can detect an expired link. */
const readable = (fault: unknown): never => {
  if (!(fault instanceof ApiError)) throw fault;
  const { status, retryAfterS, headers } = fault;
  throw new ApiError(fault.code, fault.message, {
    status,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    headers: { ...headers, ...READABLE },
  });
};

/** Serves a file to every client with a valid link. Browsers of any site may show it; the response names no account. */
export const linkedFile =
  (...deps: Parameters<typeof openLinked>): Answer =>
  (request, requestId, params) =>
    openLinked(...deps)(request, requestId, params).catch(readable);

export type LinkedFileDeps = {
  links: Links;
  reads: Pick<StoreReads, "generationBySeq" | "uploadedFile">;
  results: StoredResults;
  /** The storage of uploaded files. */
  uploads: Pick<FilesDeps, "storage" | "log">;
  clock: Pick<Clock, "nowMs">;
  storeOpen: () => boolean;
};

const noFile = () => refuse("not_found", "No file has this address.");

const openLinked =
  ({ links, reads, results, uploads, clock, storeOpen }: LinkedFileDeps) =>
  async (request: Request, requestId: string, params: PathParams): Promise<Response> => {
    if (!storeOpen()) refuse("restarting", "The service is starting; send the same request again.");
    const { id = "", n = "" } = params;
    const isUpload = UPLOAD.test(id);
    const seq = isUpload ? undefined : seqOfGenerationId(id);
    const number = Number(POSITION.exec(n)?.[1]);
    if ((seq === undefined && !isUpload) || Number.isNaN(number)) return noFile();
    const query = queryOf(request);
    const exp = query.get("exp") ?? "";
    const verdict = links.check(id, number, exp, query.get("kid") ?? "", query.get("sig") ?? "");
    const remedy = isUpload ? "read the file for" : "poll the generation for";
    if (verdict === "expired") return closed(`This link has expired; ${remedy} a new one.`);
    if (verdict === "bad") return closed(`This link is not valid; ${remedy} one that is.`);
    const untilMs = Number(exp) * 1000;
    const find = async (): Promise<Response> => {
      if (seq === undefined) {
        const file = await reads.uploadedFile(id);
        if (!file || file.expiresAtMs <= clock.nowMs()) return noFile();
        return answerUpload(uploads, file, request, requestId, untilMs);
      }
      const record = await reads.generationBySeq(seq);
      if (record === undefined || record.id !== id) return noFile();
      return answerFile(results, record, number, request, requestId, untilMs);
    };
    const response = await find();
    for (const [name, value] of Object.entries(READABLE)) response.headers.set(name, value);
    response.headers.set("cross-origin-resource-policy", "cross-origin");
    response.headers.set("referrer-policy", "no-referrer");
    return response;
  };
