// Log of the clients that upload: one JSON line before each step and one after it, which a kill of the client cannot take back.
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";

/** `form` and `bytes`: `POST /v1/files` with a form and with the file as the body. `resumable`: tus. */
export type UploadKind = "form" | "bytes" | "resumable";

/** `n` numbers the uploads of a world. */
export type UploadLine =
  | { type: "begun"; n: number; account: number; kind: UploadKind; content: number }
  /** A resumable upload got its address. */
  | { type: "created"; n: number; path: string }
  /** The client broke the connection; or the service ended before its response. */
  | { type: "cut" | "broken"; n: number }
  /** The service acknowledged the file. */
  | { type: "stored"; n: number; file: string }
  /** The service answered without a file. Nothing follows. */
  | { type: "refused"; n: number; status: number; code: string }
  /** The client is about to terminate a resumable upload; and the termination was acknowledged. */
  | { type: "terminating" | "terminated"; n: number }
  /** A stored file is about to be deleted; and its deletion was acknowledged. */
  | { type: "deleting" | "deleted"; account: number; file: string };

export const openUploadLog = (path: string) => {
  const file = openSync(path, "a");
  // A killed client may have left a part of its last line.
  writeSync(file, "\n");
  return (line: UploadLine): void => void writeSync(file, `${JSON.stringify(line)}\n`);
};

/** The whole lines so far. */
export const readUploadLog = (path: string): UploadLine[] => {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as UploadLine];
    } catch {
      return [];
    }
  });
};

export type Upload = {
  n: number;
  account: number;
  kind: UploadKind;
  content: number;
  path: string | null;
  file: string | null;
  refused: { status: number; code: string } | null;
  isTerminated: "no" | "requested" | "acknowledged";
  cuts: number;
  breaks: number;
};

/** The uploads of a log in their order. */
export const uploadsOf = (lines: readonly UploadLine[]): Upload[] => {
  const uploads = new Map<number, Upload>();
  for (const line of lines) {
    if (line.type === "begun") {
      const { n, account, kind, content } = line;
      const none = { path: null, file: null, refused: null, isTerminated: "no" as const, cuts: 0, breaks: 0 };
      uploads.set(n, { n, account, kind, content, ...none });
      continue;
    }
    const upload = "n" in line ? uploads.get(line.n) : undefined;
    if (!upload) continue;
    if (line.type === "created") upload.path = line.path;
    if (line.type === "cut") upload.cuts += 1;
    if (line.type === "broken") upload.breaks += 1;
    if (line.type === "stored") upload.file = line.file;
    if (line.type === "refused") upload.refused = { status: line.status, code: line.code };
    if (line.type === "terminating") upload.isTerminated = "requested";
    if (line.type === "terminated") upload.isTerminated = "acknowledged";
  }
  return [...uploads.values()];
};

/** Whether nothing more can become of an upload. */
export const isOver = ({ file, refused, isTerminated, kind, cuts, breaks }: Upload): boolean =>
  file !== null || refused !== null || isTerminated === "acknowledged" || (kind !== "resumable" && cuts + breaks > 0);

/**
 * Uploads that were interrupted: by their client, by the end of the service, or by a kill of their client. The last ones have no
 * end in the log of clients that are not running any more.
 */
export const interruptedOf = (uploads: readonly Upload[]): { byClient: number; byService: number; withClient: number } => {
  const left = uploads.filter((upload) => !isOver(upload) && upload.cuts + upload.breaks === 0);
  return {
    byClient: uploads.filter(({ cuts, breaks }) => cuts > 0 && breaks === 0).length,
    byService: uploads.filter(({ breaks }) => breaks > 0).length,
    withClient: left.length,
  };
};
