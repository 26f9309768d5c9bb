// Fixture of the media tests: file storage, a scripted web server and the media component.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSpool } from "../../src/files/inline-spool.ts";
import { createLocalStorage } from "../../src/files/local.ts";
import type { Files } from "../../src/files/port.ts";
import { readAllowed } from "../../src/media/host-allowlist.ts";
import { createMedia, type MediaOptions } from "../../src/media/media.ts";
import type { Media } from "../../src/media/port.ts";
import { testSandbox } from "../sandbox.ts";

export type Answer = (request: Request) => Response | Promise<Response>;

export type Scene = {
  media: Media;
  files: Files;
  /** Serves an answer at a path and returns its URL. */
  at: (path: string, answer: Answer) => string;
  /** Requests so far: `GET /path` or `GET /path bytes=0-1`. */
  asked: string[];
  /** Names in the directory of files being received. */
  leftovers: () => Promise<string[]>;
};

/** Serves the whole file or the requested range, as a correct server does. */
export const honest =
  (bytes: Uint8Array, mime = "application/octet-stream"): Answer =>
  (request) => {
    const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
    if (!match) return new Response(bytes, { headers: { "content-type": mime } });
    const start = Number(match[1]);
    if (start >= bytes.length) return new Response(null, { status: 416 });
    const end = Math.min(bytes.length, match[2] ? Number(match[2]) + 1 : bytes.length);
    const headers = { "content-type": mime, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` };
    return new Response(bytes.slice(start, end), { status: 206, headers });
  };

/** Serves the whole file for every request. */
export const rangeless =
  (bytes: Uint8Array): Answer =>
  () =>
    new Response(bytes);

/** Sends chunks on demand; `undefined` ends the body, and a chunk may be delayed. */
export const streaming = (
  next: (n: number) => Promise<Uint8Array | undefined>,
  headers: Record<string, string> = {},
): Response => {
  let n = 0;
  return new Response(
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const piece = await next(n++);
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    }),
    { headers },
  );
};

export const inScene = async (options: Partial<MediaOptions>, act: (scene: Scene) => Promise<void>): Promise<void> => {
  const dir = await mkdtemp(join(tmpdir(), "media-"));
  const asked: string[] = [];
  const answers = new Map<string, Answer>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 30,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      asked.push(["GET", pathname, request.headers.get("range") ?? ""].join(" ").trim());
      return answers.get(pathname)?.(request) ?? new Response("nothing here", { status: 404 });
    },
  });
  try {
    const files = await createLocalStorage(dir);
    const media = createMedia({
      files,
      spool: await createSpool(join(dir, "spool"), Date.now),
      keyFor: () => ({}),
      allows: readAllowed("127.0.0.1"),
      allowsResult: () => false,
      resultBytes: 64 * 1024 * 1024,
      sandbox: testSandbox,
      ...options,
    });
    const at = (path: string, answer: Answer) => {
      answers.set(path, answer);
      return new URL(path, server.url).href;
    };
    await act({ media, files, at, asked, leftovers: () => readdir(join(dir, "incoming")) });
  } finally {
    await server.stop(true);
    await rm(dir, { recursive: true, force: true });
  }
};
