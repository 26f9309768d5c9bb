// Endpoints of the console API for uploaded files: upload, list, download and delete.
//
// The rules are those of `/v1/files`: both use the same service.
import { refuse } from "../domain/api-errors.ts";
import type { Caller } from "../domain/types.ts";
import type { UploadedFile } from "../domain/upload-mutations.ts";
import { answerUpload, type FilesDeps, linkOf } from "../http/endpoints/files.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";
import type { AccessAudit } from "./access-audit.ts";
import { accountOf, accountToChange, mayChange, ownAccountId } from "./account-scope.ts";
import type { FilesPage, UploadedFileDto } from "./files-dto.ts";
import type { GenerationRoutesDeps } from "./generation-routes.ts";
import type { ConsoleRequest, ConsoleRoute } from "./request-context.ts";
import { type AnswerThumbnail, hasThumbnail } from "./thumbnails.ts";

export type FileRoutesDeps = Pick<FilesDeps, "uploads" | "links" | "log"> &
  Pick<GenerationRoutesDeps, "consoleCaller" | "count"> & {
    reads: Pick<StoreReads, "account">;
    /** The storage of uploaded bytes. */
    uploadedFiles: FilesDeps["storage"];
    through: GenerationRoutesDeps["results"]["through"];
    thumb: AnswerThumbnail;
    accessAudit: AccessAudit;
    /** Disables the idle timeout of a request. */
    keepOpen: (request: Request) => void;
  };

const PATH = "/console/api/files";
const PAGE = 24;

/** @param query the query that names the account, if it is not the user's own */
const viewOf = (file: UploadedFile, query: string, link: string): UploadedFileDto => {
  const { id, kind, mime, bytes, sha256, width = null, height = null, ms = null, createdAtMs, expiresAtMs } = file;
  return {
    ...{ id, kind, mime, bytes, sha256, width, height, durationMs: ms, createdAtMs, expiresAtMs, link },
    contentUrl: `${PATH}/${id}/content${query}`,
    thumbUrl: hasThumbnail(mime) ? `${PATH}/${id}/thumb${query}` : null,
  };
};

const contentLengthOf = (request: Request): number | null => {
  const announced = request.headers.get("content-length");
  return announced === null ? null : Number(announced);
};

/** The caller of an upload: the hidden key of the user's own account. @throws ApiError `account_disabled`, `rate_limited` */
const createUploader =
  ({ consoleCaller, count }: Pick<FileRoutesDeps, "consoleCaller" | "count">) =>
  async (request: ConsoleRequest): Promise<Caller> => {
    const caller = await consoleCaller(ownAccountId(request));
    if (caller.paused) refuse("account_disabled", "The account is paused.");
    await count(caller);
    return caller;
  };

export const fileRoutes = (deps: FileRoutesDeps): ConsoleRoute[] => {
  const { reads, uploads, links, log, through, accessAudit } = deps;
  const stored = { storage: deps.uploadedFiles, log, through };
  const uploader = createUploader(deps);

  const viewFor = ({ who }: ConsoleRequest, account: Pick<AccountRow, "id">, file: UploadedFile): UploadedFileDto =>
    viewOf(file, account.id === who.accountId ? "" : `?account=${account.id}`, linkOf(links, file));
  /** A file of the account in the query. The same response for an unknown file and one of another account. */
  const found = async (request: ConsoleRequest): Promise<UploadedFile> => {
    const account = await accountOf(reads, request);
    const file = await uploads.find(request.params.id ?? "", { accountSeq: account.seq });
    accessAudit.note(request.who, { what: "uploads", of: account.id, accountId: account.id });
    return file;
  };

  const create = async (query: ConsoleRequest): Promise<UploadedFileDto> => {
    const caller = await uploader(query);
    const { request } = query;
    const contentType = request.headers.get("content-type") ?? "";
    const body = { stream: request.body, contentType, contentLength: contentLengthOf(request) };
    const file = await uploads.create(body, caller, request.signal, () => deps.keepOpen(request));
    return viewFor(query, { id: caller.accountId }, file);
  };
  const list = async (request: ConsoleRequest): Promise<FilesPage> => {
    const account = await accountOf(reads, request);
    const owner = { accountSeq: account.seq };
    const [{ files, next }, space] = await Promise.all([
      uploads.list(owner, request.query.get("after"), PAGE),
      uploads.space(owner),
    ]);
    accessAudit.note(request.who, { what: "uploads", of: account.id, accountId: account.id });
    const mayDelete = mayChange(request, account.id);
    return {
      account: { id: account.id, name: account.name },
      files: files.map((file) => viewFor(request, account, file)),
      next,
      ...space,
      mayUpload: mayDelete && account.id === request.who.accountId,
      mayDelete,
    };
  };
  const content = async (request: ConsoleRequest): Promise<Response> =>
    answerUpload(stored, await found(request), request.request, request.requestId);
  const small = async (request: ConsoleRequest): Promise<Response> => {
    const file = await found(request);
    if (!hasThumbnail(file.mime)) return refuse("not_found", "Thumbnails exist for images only.");
    // Requests the complete file, whatever range this request has.
    const whole = new Request(request.request.url, { signal: request.request.signal });
    const read = async () => (await answerUpload(stored, file, whole, request.requestId)).blob();
    return deps.thumb({ ...file, account: String(file.accountSeq), read }, request.request);
  };
  const remove = async (request: ConsoleRequest): Promise<object> => {
    const { seq } = await accountToChange(reads, request);
    const id = request.params.id ?? "";
    await uploads.remove(id, { accountSeq: seq });
    return { id };
  };

  return [
    { method: "POST", path: PATH, who: "member", answer: create },
    { method: "GET", path: PATH, who: "user", answer: list },
    { method: "GET", path: `${PATH}/:id/content`, who: "user", answer: content },
    { method: "GET", path: `${PATH}/:id/thumb`, who: "user", answer: small },
    { method: "DELETE", path: `${PATH}/:id`, who: "user", answer: remove },
  ];
};
