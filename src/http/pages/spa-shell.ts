// The console's and the inspector's pages: one frame each, and the scripts and styles that it names, packed ahead and kept by browsers for ever.
import { join } from "node:path";
import { ApiError } from "../../domain/api-errors.ts";
import { takes } from "../accept-encoding.ts";
import { signAnswer } from "../response.ts";
import type { PageName, Web, WebFile, WebPage } from "./asset-manifest.ts";
import { answerPage, htmlDocument } from "./page.ts";

const YEAR_S = 31_536_000;
/** Everything from this service; pictures, films and sound may also come from memory. */
const SOURCES = {
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data: blob:",
  "media-src": "'self' blob:",
  "manifest-src": "'self'",
};
const TITLES: Readonly<Record<PageName, string>> = { console: "genrouter console", inspector: "genrouter inspector" };

/** In the binary the built files lie beside the code, under names of this form. */
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

/** From source the pages are built when the first one is asked for. The path is made here, so that no bundler follows it. */
const built = async (): Promise<Web> => {
  const maker = (await import(join(import.meta.dir, "..", "..", "..", "web", "build.ts"))) as { buildWeb: () => Promise<Web> };
  return maker.buildWeb();
};

type Shelf = { pages: Record<PageName, string>; files: Map<string, WebFile> };
let shelf: Promise<Shelf> | undefined;

const frameOf = (name: PageName, { script, styles, preload }: WebPage): string =>
  htmlDocument(
    TITLES[name],
    [
      ...styles.map((style) => `<link rel="stylesheet" href="/assets/${style}">`),
      ...preload.map((part) => `<link rel="modulepreload" href="/assets/${part}">`),
      `<script type="module" src="/assets/${script}"></script>`,
    ].join("\n"),
    `<div id="page"></div>
<noscript><p>The ${name} needs JavaScript. The API does without: <a href="/docs">its reference</a>.</p></noscript>`,
  );

const load = async (): Promise<Shelf> => {
  const { pages, files } = (await embedded()) ?? (await built());
  return {
    pages: { console: frameOf("console", pages.console), inspector: frameOf("inspector", pages.inspector) },
    files: new Map(files.map((file) => [file.name, file])),
  };
};
const loaded = (): Promise<Shelf> => {
  shelf ??= load().catch((fault: unknown) => {
    shelf = undefined;
    throw fault;
  });
  return shelf;
};

/** The frame of a page: the same for everybody, and asked for anew each time, so that a new release is seen at once. */
export const webPage = async (name: PageName, requestId: string, isBehindTls: boolean): Promise<Response> => {
  const response = answerPage((await loaded()).pages[name], requestId, isBehindTls, SOURCES);
  response.headers.set("cache-control", "no-cache");
  return response;
};

/** A script or style of a page. @throws Refusal `not_found` for a name that is not of this build. */
export const webAsset = async (request: Request, requestId: string, name: string): Promise<Response> => {
  const file = (await loaded()).files.get(name);
  if (!file) throw new ApiError("not_found", "No such file; the pages name those there are.");
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
