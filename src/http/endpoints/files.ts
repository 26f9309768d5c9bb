// Serves uploaded files: POST and GET /v1/files, GET and DELETE /v1/files/{id}, GET /v1/files/{id}/content.
import { refuse } from "../../domain/api-errors.ts";
import type { UploadedFile } from "../../domain/upload-mutations.ts";
import type { Files } from "../../files/port.ts";
import { extensionOf } from "../../files/serve.ts";
import type { Links } from "../../files/signed-links.ts";
import type { Log } from "../../logging/events.ts";
import type { UploadService } from "../../uploads/upload-service.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { integerIn, LIST_LIMIT, readQuery } from "../query.ts";
import { fileJson } from "../resource.ts";
import { answerJson, commonHeaders } from "../response.ts";
import { answerStored, type StoredResults } from "./content.ts";

export type FilesDeps = {
  uploads: UploadService;
  /** The storage of uploaded bytes. */
  storage: Pick<Files, "open" | "link">;
  links: Links;
  log: Log;
};

/** The number of the only file of a blob. */
const FILE_NO = 1;

/** The signed link of a file. */
export const linkOf = (links: Links, { id, mime }: UploadedFile): string => links.sign(id, FILE_NO, extensionOf(mime));

const CREATED = commonHeaders({});
const contentLengthOf = (request: Request): number | null => {
  const announced = request.headers.get("content-length");
  return announced === null ? null : Number(announced);
};

/** @param keepOpen disables the idle timeout of the connection once the body has arrived */
export const createFile =
  ({ uploads, links }: FilesDeps, keepOpen: (request: Request) => void): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    const body = {
      stream: request.body,
      contentType: request.headers.get("content-type") ?? "",
      contentLength: contentLengthOf(request),
    };
    const file = await uploads.create(body, caller, request.signal, () => keepOpen(request));
    CREATED.set("location", `/v1/files/${file.id}`);
    return answerJson(201, fileJson(file, linkOf(links, file)), requestId, CREATED);
  };

export const readFile =
  ({ uploads, links }: FilesDeps): AuthenticatedHandler =>
  async (_request, requestId, caller, { id = "" }) => {
    const file = await uploads.find(id, caller);
    return answerJson(200, fileJson(file, linkOf(links, file)), requestId);
  };

export const listFiles =
  ({ uploads, links }: FilesDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    const { limit, after = null } = readQuery(request, ["limit", "after"]);
    const { files, next } = await uploads.list(caller, after, integerIn("limit", limit, LIST_LIMIT));
    const data = files.map((file) => fileJson(file, linkOf(links, file))).join(",");
    const json = `{"object":"list","data":[${data}],"has_more":${next !== null},"next":${JSON.stringify(next)}}`;
    return answerJson(200, json, requestId);
  };

export const deleteFile =
  ({ uploads }: FilesDeps): AuthenticatedHandler =>
  async (_request, requestId, caller, { id = "" }) => {
    await uploads.remove(id, caller);
    return answerJson(200, JSON.stringify({ id, object: "file", deleted: true }), requestId);
  };

/** Serves the bytes of a file, or redirects to the bucket. @param untilMs when the link that authorizes the request expires */
export const answerUpload = async (
  { storage, log, through }: Pick<FilesDeps, "storage" | "log"> & Pick<StoredResults, "through">,
  { id, blobId, object, sha256, bytes, mime }: UploadedFile,
  request: Request,
  requestId: string,
  untilMs?: number,
): Promise<Response> => {
  const lost = (reason: string): never => {
    log("file missing", { file_id: id, reason });
    return refuse("not_found", "The stored file is missing. The operator has been notified.");
  };
  const place = { storageId: blobId, fileNo: FILE_NO, object, sha256, bytes, mime };
  return answerStored({ files: storage, lost, through }, place, `${id}${extensionOf(mime)}`, request, requestId, untilMs);
};

export const fileContent =
  (deps: FilesDeps): AuthenticatedHandler =>
  async (request, requestId, caller, { id = "" }) =>
    answerUpload(deps, await deps.uploads.find(id, caller), request, requestId);
