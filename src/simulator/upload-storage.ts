// The providers' file storage, in memory, for uploads before a submission.
import { type Answer, json, ranged, type SimulatorRequest, text } from "./http-server.ts";
import { formObject } from "./multipart.ts";

/** `bytes` is null between the reservation of an address and the upload. */
type Stored = { bytes: Uint8Array | null; mime: string };

/** A stored file. `url` is its address for downloads. */
export type StoredUpload = { id: string; url: string; bytes: number; mime: string };

export type UploadStorage = {
  /** Reserves an address for a later upload. */
  reserve(origin: string, mime: string): { id: string; url: string };
  /** Stores the file of a form part; undefined if the form has none. */
  takePart(request: SimulatorRequest, field: string, id?: string): StoredUpload | undefined;
  /** Stores the file of a data URI or of plain base64; undefined for any other text. */
  takeText(origin: string, content: string, mime?: string): StoredUpload | undefined;
  /** The address of a stored file; undefined if there is none with this id. */
  linkOf(origin: string, id: string): string | undefined;
  /** Handles a request below `/uploads/`. */
  answer(query: SimulatorRequest, path: string): Answer;
};

const MAX_BYTES = 256 * 1_048_576;
/** The form field that a POST to a reserved address requires, as S3 does. */
export const POLICY = "simulated";

const contentOf = (part: unknown): { mime: string; bytes: Uint8Array } | undefined => {
  const [, mime, base64] = typeof part === "string" ? (/^data:([^;,]+);base64,(.*)$/s.exec(part) ?? []) : [];
  if (mime === undefined || base64 === undefined || base64 === "") return undefined;
  return { mime, bytes: new Uint8Array(Buffer.from(base64, "base64")) };
};

/** Creates a storage that keeps the newest files. */
export const createUploadStorage = (): UploadStorage => {
  const files = new Map<string, Stored>();
  const put = (id: string, stored: Stored) => {
    files.delete(id);
    files.set(id, stored);
    let held = [...files.values()].reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
    for (const [oldest, { bytes }] of files) {
      if (held <= MAX_BYTES || oldest === id) break;
      files.delete(oldest);
      held -= bytes?.length ?? 0;
    }
  };
  const addressOf = (origin: string, id: string) => `${origin}/uploads/${id}`;
  const store = (origin: string, content: ReturnType<typeof contentOf>, id: string = crypto.randomUUID()) => {
    if (!content) return undefined;
    put(id, content);
    return { id, url: addressOf(origin, id), bytes: content.bytes.length, mime: content.mime };
  };

  /** A signed address receives no credential, and only the declared media type. */
  const receive = (request: SimulatorRequest, id: string, { mime }: Stored): Answer => {
    if (request.headers.authorization !== undefined) return text(400, "Only one auth mechanism allowed\n");
    if (request.method === "PUT") {
      if (request.headers["content-type"] !== mime) return text(403, "SignatureDoesNotMatch\n");
      put(id, { bytes: request.body, mime });
      return json(200, {});
    }
    const { key, policy } = formObject(request) ?? {};
    if (key !== id || policy !== POLICY) return text(403, "AccessDenied\n");
    const content = contentOf(formObject(request)?.file);
    return store(request.origin, content, id) ? { ...text(204, ""), headers: {} } : text(400, "file is required\n");
  };

  return {
    reserve: (origin, mime) => {
      const id = crypto.randomUUID();
      put(id, { bytes: null, mime });
      return { id, url: addressOf(origin, id) };
    },
    takePart: (request, field, id) => store(request.origin, contentOf(formObject(request)?.[field]), id),
    takeText: (origin, content, mime = "application/octet-stream") =>
      store(origin, contentOf(content.startsWith("data:") ? content : `data:${mime};base64,${content}`)),
    linkOf: (origin, id) => (files.get(id)?.bytes ? addressOf(origin, id) : undefined),
    answer: (request, path) => {
      const id = path.slice(1);
      const stored = files.get(id);
      if (stored && (request.method === "PUT" || request.method === "POST")) return receive(request, id, stored);
      if (!stored?.bytes) return text(404, "no such file\n");
      return ranged(request, { kind: "reply", status: 200, headers: { "content-type": stored.mime }, body: stored.bytes });
    },
  };
};
