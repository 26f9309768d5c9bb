// Serves results to API keys: GET /v1/generations/{id}/content (§4.3) and /content/{n} (§4.4).

import { refuse } from "../../domain/api-errors.ts";
import type { Clock } from "../../domain/clock.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import { FileMissing, type Files } from "../../files/port.ts";
import { dispositionOf, FILE_CACHE_CONTROL, fileName, serveElsewhere, serveFile } from "../../files/serve.ts";
import type { FilePlace } from "../../files/stored-file.ts";
import type { Log } from "../../logging/events.ts";
import type { StoreReads } from "../../store/store.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { errorJson } from "../errors.ts";
import { signAnswer } from "../response.ts";
import { findGeneration } from "./generations.ts";

/** §8: position 1 is served at /content, the others at /content/{n} with plain digits 2 to 99. */
const POSITION = /^(?:[2-9]|[1-9][0-9])$/;

/** Replaces the response to an unsatisfiable range by the error body of §2.3. */
const noSuchPart = (response: Response): Response => {
  const headers = new Headers(response.headers);
  headers.set("content-type", "application/json");
  return new Response(errorJson("invalid_request", "Range: the file has no such part."), { status: 416, headers });
};

/**
 * The stored result files. `isOver` is true after the retention of a generation's files; from then on they may be deleted at any
 * time.
 */
export type StoredResults = {
  files: Files;
  isOver: (record: GenerationRecord) => boolean;
  /** Called if a file within its retention is missing or incomplete. */
  missing: (id: string, n: number, reason: string) => void;
  /** Proxies a file from the bucket instead of redirecting the client, for pages that may not load from other hosts. */
  through?: (location: string, sha256: string, request: Request) => Promise<Response>;
};

/** Creates the stored results with a retention of `keepFilesS` seconds after success. */
export const storedResultsOf = (
  files: Files,
  { clock, log }: { clock: Pick<Clock, "nowMs">; log: Log },
  keepFilesS: number,
): StoredResults => ({
  files,
  missing: (id, n, reason) => log("file missing", { generation_id: id, file_no: n, reason }),
  isOver: ({ completedAtMs }) => completedAtMs !== null && clock.nowMs() >= completedAtMs + keepFilesS * 1000,
});

/**
 * Serves file `n` of a generation, in full or in part (Range, If-None-Match). If the file is not on local disk, redirects to its
 * location.
 * @param untilMs when the link or session that authorizes the request expires, if it expires
 * @throws ApiError `not_ready` before success; `not_found` if the generation failed, it has fewer than n files, or the files are
 * expired or lost.
 */
export const answerFile = async (
  { files, isOver, missing, through }: StoredResults,
  record: GenerationRecord,
  n: number,
  request: Request,
  requestId: string,
  untilMs?: number,
): Promise<Response> => {
  if (record.status === "queued" || record.status === "running")
    return refuse("not_ready", `The generation is ${record.status}; its files are there once it has succeeded.`);
  if (record.status === "failed" || record.output === null) return refuse("not_found", "The generation failed; it has no files.");
  const file = record.output.files.find((one) => one.n === n);
  if (file === undefined) return refuse("not_found", `The generation has ${record.output.files.length} files, not ${n}.`);
  if (record.filesExpiredAtMs !== null) return refuse("not_found", "files expired");
  // The file is deleted but may not be marked as expired yet.
  const lost = (reason: string) => {
    if (isOver(record)) return refuse("not_found", "files expired");
    missing(record.id, n, reason);
    return refuse("not_found", "The stored file is missing. The operator has been notified.");
  };
  const { object, sha256, bytes, mime } = file;
  const place = { storageId: record.id, fileNo: n, object, sha256, bytes, mime };
  return answerStored(
    { files, through, lost, isOver: () => isOver(record) },
    place,
    fileName(record.id, n, mime),
    request,
    requestId,
    untilMs,
  );
};

type StoredAnswerDeps = {
  through?: StoredResults["through"] | undefined;
  files: Pick<Files, "open" | "link">;
  /** Rejects the request for a missing or incomplete file. */
  lost: (reason: string) => never;
  /** Whether the retention is over, so that a file that is not on disk is not looked for. */
  isOver?: () => boolean;
};

/** Serves a stored file from disk, or redirects to the bucket. @param untilMs as in `answerFile` */
export const answerStored = async (
  { files, through, lost, isOver }: StoredAnswerDeps,
  { storageId, fileNo, object, sha256, bytes, mime }: FilePlace,
  name: string,
  request: Request,
  requestId: string,
  untilMs?: number,
): Promise<Response> => {
  // A file with an object name was stored in the bucket and never on local disk.
  const found = object === undefined ? await files.open(storageId, fileNo) : undefined;
  // A truncated file is never served.
  const blob = found?.size === bytes ? found : undefined;
  const reason = found ? `the stored file has ${found.size} bytes, not ${bytes}` : "the stored file is not there";
  if (blob === undefined) {
    if (isOver?.()) return lost(reason);
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const words = { method, object, mime, disposition: dispositionOf(mime, name), cacheControl: FILE_CACHE_CONTROL } as const;
    const location = files.link?.(storageId, fileNo, { ...words, ...(untilMs === undefined ? {} : { untilMs }) });
    if (location === undefined) return lost(reason);
    if (!through) return signAnswer(serveElsewhere({ location, sha256, request }), requestId);
    try {
      return signAnswer(await through(location, sha256, request), requestId);
    } catch (fault) {
      if (fault instanceof FileMissing) return lost(reason);
      throw fault;
    }
  }
  const response = serveFile({ blob, mime, sha256, name, request, cacheControl: FILE_CACHE_CONTROL });
  return signAnswer(response.status === 416 ? noSuchPart(response) : response, requestId);
};

/** §4.3 without `n` in the path, §4.4 with `n`. */
export const content =
  (reads: Pick<StoreReads, "generationById">, results: StoredResults): AuthenticatedHandler =>
  async (request, requestId, caller, params) => {
    const position = params.n;
    if (position !== undefined && !POSITION.test(position))
      refuse("not_found", "The position of a file is a number from 2 to 99; the first is at /content.");
    const record = await findGeneration(reads, params.id, caller);
    return answerFile(results, record, position === undefined ? 1 : Number(position), request, requestId);
  };
