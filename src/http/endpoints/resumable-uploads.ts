// Serves resumable uploads by tus 1.0: /v1/files/uploads and /v1/files/uploads/{id}.
import { refuse } from "../../domain/api-errors.ts";
import type { ResumableUpload } from "../../domain/resumable-mutations.ts";
import type { ResumableService } from "../../uploads/resumable-service.ts";
import type { AuthenticatedHandler, KeyGuard } from "../auth.ts";
import { type Answer, answerJson, signAnswer } from "../response.ts";
import type { Route } from "../routes.ts";
import {
  checksumOf,
  inTus,
  metadataOf,
  requireOffsetStream,
  TUS_ALGORITHMS,
  TUS_EXTENSIONS,
  TUS_VERSION,
  uploadLengthOf,
  uploadOffsetOf,
} from "../tus.ts";

export type ResumableUploadsDeps = {
  resumable: ResumableService;
  /** `limits.upload_bytes`. */
  mostBytes: number;
  /** Disables the idle timeout of the connection once the body has arrived. */
  keepOpen: (request: Request) => void;
};

const PATH = "/v1/files/uploads";

const answerEmpty = (status: number, requestId: string, headers: Readonly<Record<string, string>>): Response =>
  signAnswer(new Response(null, { status, headers: { "cache-control": "no-store", ...headers } }), requestId);

const contentLengthOf = (request: Request): number | null => {
  const announced = request.headers.get("content-length");
  return announced === null ? null : Number(announced);
};

/** Offset and expiry of an open upload, or the file of a completed one. */
const stateOf = ({ receivedBytes, fileId, expiresAtMs }: ResumableUpload): Record<string, string> => ({
  "upload-offset": String(receivedBytes),
  ...(fileId === null
    ? { "upload-expires": new Date(expiresAtMs).toUTCString() }
    : { "genrouter-file": fileId, location: `/v1/files/${fileId}` }),
});

const createUpload =
  ({ resumable, mostBytes }: ResumableUploadsDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    const { headers } = request;
    if (Number(headers.get("content-length") ?? 0) > 0 || headers.has("transfer-encoding"))
      refuse("invalid_request", "The creation of an upload takes no body; send the bytes with PATCH.");
    const file = { bytes: uploadLengthOf(request, mostBytes), metadata: metadataOf(request) };
    const upload = await resumable.create(file, caller);
    const expires = new Date(upload.expiresAtMs).toUTCString();
    return answerEmpty(201, requestId, { location: `${PATH}/${upload.id}`, "upload-expires": expires });
  };

const appendToUpload =
  ({ resumable, keepOpen }: ResumableUploadsDeps): AuthenticatedHandler =>
  async (request, requestId, caller, { id = "" }) => {
    requireOffsetStream(request);
    const body = {
      stream: request.body,
      offset: uploadOffsetOf(request),
      contentLength: contentLengthOf(request),
      checksum: checksumOf(request),
    };
    return answerEmpty(204, requestId, stateOf(await resumable.append(id, body, caller, () => keepOpen(request))));
  };

const resumeUpload =
  ({ resumable, keepOpen }: ResumableUploadsDeps): AuthenticatedHandler =>
  async (request, requestId, caller, { id = "" }) => {
    const upload = await resumable.resume(id, caller, () => keepOpen(request));
    const metadata = upload.metadata === null ? {} : { "upload-metadata": upload.metadata };
    return answerEmpty(200, requestId, { ...stateOf(upload), "upload-length": String(upload.bytes), ...metadata });
  };

const terminateUpload =
  ({ resumable }: ResumableUploadsDeps): AuthenticatedHandler =>
  async (_request, requestId, caller, { id = "" }) => {
    await resumable.terminate(id, caller);
    return answerEmpty(204, requestId, {});
  };

const readUpload =
  ({ resumable }: ResumableUploadsDeps): AuthenticatedHandler =>
  async (_request, requestId, caller, { id = "" }) => {
    const { receivedBytes, bytes, fileId, error } = await resumable.find(id, caller);
    const json = {
      ...{ id, object: "upload", offset: receivedBytes, length: bytes },
      ...(fileId === null ? {} : { file: fileId }),
      ...(error === null ? {} : { error: { code: error.code, message: error.message } }),
    };
    return answerJson(200, JSON.stringify(json), requestId);
  };

/** What the service supports, without a key. */
const describeTus =
  ({ mostBytes }: ResumableUploadsDeps): Answer =>
  (_request, requestId) =>
    answerEmpty(204, requestId, {
      "tus-resumable": TUS_VERSION,
      "tus-version": TUS_VERSION,
      "tus-extension": TUS_EXTENSIONS,
      "tus-max-size": String(mostBytes),
      "tus-checksum-algorithm": TUS_ALGORITHMS,
    });

/** Answers a POST in place of a method that a proxy or a runtime does not let through. */
const overridden =
  (byMethod: Readonly<Record<string, Answer>>): Answer =>
  (request, requestId, params) => {
    const method = request.headers.get("x-http-method-override") ?? "";
    const answer = Object.hasOwn(byMethod, method) ? byMethod[method] : undefined;
    if (!answer) return refuse("invalid_request", `X-HTTP-Method-Override: must be ${Object.keys(byMethod).join(" or ")}.`);
    return answer(request, requestId, params);
  };

/** The requests that carry bytes are outside of the burst limit. */
export const resumableRoutes = (deps: ResumableUploadsDeps, guard: KeyGuard): Route[] => {
  const options = describeTus(deps);
  const append = inTus(guard.keyed("generate", appendToUpload(deps), { isCounted: false }));
  const terminate = inTus(guard.keyed("generate", terminateUpload(deps)));
  return [
    { path: PATH, answers: { POST: inTus(guard.keyed("generate", createUpload(deps))), OPTIONS: options } },
    {
      path: `${PATH}/:id`,
      answers: {
        GET: guard.keyed("read", readUpload(deps)),
        HEAD: inTus(guard.keyed("generate", resumeUpload(deps))),
        PATCH: append,
        DELETE: terminate,
        POST: overridden({ PATCH: append, DELETE: terminate }),
        OPTIONS: options,
      },
    },
  ];
};
