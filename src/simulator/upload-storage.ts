// The providers' file storage, in memory, for uploads before a submission.
import { type Answer, json, ranged, type SimulatorRequest, text } from "./http-server.ts";
import { formObject } from "./multipart.ts";

type Stored = { bytes: Uint8Array; mime: string };

export type UploadStorage = {
  /** Reserves an address for a later upload. @returns the address for the upload and for downloads */
  reserve(origin: string, mime: string): string;
  /** Stores the file of a form part; undefined if the form has none. */
  takePart(request: SimulatorRequest, field: string): { url: string; bytes: number; mime: string } | undefined;
  /** Handles a request below `/uploads/`. */
  answer(query: SimulatorRequest, path: string): Answer;
};

const MAX_BYTES = 256 * 1_048_576;

/** Creates a storage that keeps the newest files. */
export const createUploadStorage = (): UploadStorage => {
  const files = new Map<string, Stored>();
  const put = (id: string, stored: Stored) => {
    files.delete(id);
    files.set(id, stored);
    let held = [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    for (const [oldest, { bytes }] of files) {
      if (held <= MAX_BYTES || oldest === id) break;
      files.delete(oldest);
      held -= bytes.length;
    }
  };
  const addressOf = (origin: string, id: string) => `${origin}/uploads/${id}`;

  return {
    reserve: (origin, mime) => {
      const id = crypto.randomUUID();
      put(id, { bytes: new Uint8Array(0), mime });
      return addressOf(origin, id);
    },
    takePart: (request, field) => {
      const part = formObject(request)?.[field];
      const [, mime, base64] = typeof part === "string" ? (/^data:([^;,]*);base64,(.*)$/s.exec(part) ?? []) : [];
      if (mime === undefined || base64 === undefined) return undefined;
      const id = crypto.randomUUID();
      const bytes = new Uint8Array(Buffer.from(base64, "base64"));
      put(id, { bytes, mime });
      return { url: addressOf(request.origin, id), bytes: bytes.length, mime };
    },
    answer: (request, path) => {
      const id = path.slice(1);
      const stored = files.get(id);
      if (!stored) return text(404, "no such file\n");
      if (request.method === "PUT") {
        put(id, { bytes: request.body, mime: request.headers["content-type"] ?? stored.mime });
        return json(200, {});
      }
      return ranged(request, { kind: "reply", status: 200, headers: { "content-type": stored.mime }, body: stored.bytes });
    },
  };
};
