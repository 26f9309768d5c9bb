// Serves the HTML shells, scripts and styles of the console and the inspector.
//
// Scripts and styles are compressed at build time, and browsers cache them without expiry.
import { join } from "node:path";
import { ApiError } from "../../domain/api-errors.ts";
import { takes } from "../accept-encoding.ts";
import { signAnswer } from "../response.ts";
import type { PageName, Web, WebFile, WebPage } from "./asset-manifest.ts";
import { answerPage, htmlDocument } from "./page.ts";

const YEAR_S = 31_536_000;
/** Every source is this service; images, video and audio may also come from memory. */
const SOURCES = {
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data: blob:",
  "media-src": "'self' blob:",
  "manifest-src": "'self'",
};
const TITLES: Readonly<Record<PageName, string>> = { console: "genrouter console", inspector: "genrouter inspector" };

/** Names of the built files that are embedded in the binary. */
const EMBEDDED = /(?:^|\/)web~(?<name>.+)\.web$/;

const embedded = async (): Promise<Web | undefined> => {
  const blobs = new Map<string, Blob>();
  for (const blob of Bun.embeddedFiles) {
    const { name } = blob as Blob & { name: string };
    const known = EMBEDDED.exec(name)?.groups?.name;
    if (known !== undefined) blobs.set(known, blob);
  }
  const index = blobs.get("index.json");
  if (!index) return undefined;
  const { pages, files } = (await index.json()) as { pages: Web["pages"]; files: { name: string; type: string }[] };
  const bytes = async (name: string) => blobs.get(name)?.bytes();
  return {
    pages,
    files: await Promise.all(
      files.map(async ({ name, type }) => {
        const [raw, gzip, br] = await Promise.all([bytes(name), bytes(`${name}.gz`), bytes(`${name}.br`)]);
        return { name, type, raw: raw ?? new Uint8Array(), ...(gzip ? { gzip } : {}), ...(br ? { br } : {}) };
      }),
    ),
  };
};

/**
 * When run from source, the pages are built for the first request. The path is computed, so that no bundler follows the import.
 */
const built = async (): Promise<Web> => {
  const maker = (await import(join(import.meta.dir, "..", "..", "..", "web", "build.ts"))) as { buildWeb: () => Promise<Web> };
  return maker.buildWeb();
};

type WebPages = { pages: Record<PageName, string>; files: Map<string, WebFile> };
let webPages: Promise<WebPages> | undefined;

/** Requests that a page sends first. The browser sends them while the scripts are still loading. */
const FIRST_REQUESTS: Readonly<Record<PageName, readonly string[]>> = { console: ["/console/api/me"], inspector: [] };

const frameOf = (name: PageName, { script, styles, preload }: WebPage): string =>
  htmlDocument(
    TITLES[name],
    [
      ...styles.map((style) => `<link rel="stylesheet" href="/assets/${style}">`),
      ...FIRST_REQUESTS[name].map((path) => `<link rel="preload" as="fetch" crossorigin href="${path}">`),
      ...preload.map((part) => `<link rel="modulepreload" href="/assets/${part}">`),
      `<script type="module" src="/assets/${script}"></script>`,
    ].join("\n"),
    `<div id="page"></div>
<noscript><p>The ${name} needs JavaScript. The API does not; see <a href="/docs">its reference</a>.</p></noscript>`,
  );

const load = async (): Promise<WebPages> => {
  const { pages, files } = (await embedded()) ?? (await built());
  return {
    pages: { console: frameOf("console", pages.console), inspector: frameOf("inspector", pages.inspector) },
    files: new Map(files.map((file) => [file.name, file])),
  };
};
const loaded = (): Promise<WebPages> => {
  webPages ??= load().catch((fault: unknown) => {
    webPages = undefined;
    throw fault;
  });
  return webPages;
};

/** The HTML shell of a page. It is the same for all users and never cached, so that a new release takes effect at once. */
export const webPage = async (name: PageName, requestId: string, isBehindTls: boolean): Promise<Response> => {
  const response = answerPage((await loaded()).pages[name], requestId, isBehindTls, SOURCES);
  response.headers.set("cache-control", "no-cache");
  return response;
};

/** Serves a script or style of a page. @throws ApiError `not_found` for a name that is not part of this build. */
export const webAsset = async (request: Request, requestId: string, name: string): Promise<Response> => {
  const file = (await loaded()).files.get(name);
  if (!file) throw new ApiError("not_found", "File not found. The pages contain the current file names.");
  const coding = file.br && takes(request, "br") ? "br" : file.gzip && takes(request, "gzip") ? "gzip" : null;
  const body = (coding === "br" ? file.br : coding === "gzip" ? file.gzip : undefined) ?? file.raw;
  const headers = new Headers({
    "content-type": file.type,
    "cache-control": `public, max-age=${YEAR_S}, immutable`,
    vary: "Accept-Encoding",
  });
  if (coding) headers.set("content-encoding", coding);
  return signAnswer(new Response(new Uint8Array(body), { headers }), requestId);
};
