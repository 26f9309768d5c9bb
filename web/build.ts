// Builds the console and the inspector: bundles with content-hashed names, compressed ahead of time.
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { type BrotliOptions, brotliCompress, constants, gzip as gzipCompress, type ZlibOptions } from "node:zlib";
import type { BunPlugin } from "bun";
import type { PageName, Web, WebFile, WebPage } from "../src/http/pages/asset-manifest.ts";

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Compressed in separate threads, because a service that runs from source builds the pages on first use. */
const [gzipped, brotlied] = [
  promisify<Uint8Array, ZlibOptions, Buffer>(gzipCompress),
  promisify<Uint8Array, BrotliOptions, Buffer>(brotliCompress),
];
const packed = async (name: string, raw: Uint8Array): Promise<WebFile> => {
  const gzip = new Uint8Array(await gzipped(raw, { level: 9 }));
  const br = new Uint8Array(await brotlied(raw, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: raw.byteLength } }));
  return {
    ...{ name, raw, type: TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream" },
    ...(gzip.byteLength < raw.byteLength ? { gzip } : {}),
    ...(br.byteLength < raw.byteLength ? { br } : {}),
  };
};

/** Static imports of a script. The page preloads them together with it. */
const preloadsOf = (script: string): string[] =>
  [...script.matchAll(/(?:from|import)\s*"\.?\/(?:assets\/)?([\w.~-]+\.js)"/g)].map((match) => match[1] ?? "");

/** Sections of the words that the pages of the inspector show. */
export const INSPECTOR_WORDS: readonly string[] = [
  ...["frame", "userMenu", "connection", "pages", "api", "actions", "routeStates", "inspector", "times"],
];
/** A section of a file of words, as the formatter lays it out: `name: {` to `},`, one line, the name of an import, or its spread. */
const SECTION = /^ {2}(?:\.{3})?(\w+)(?:: (?:\w+|\{(?:[^\n]*\}|\n[\s\S]*?\n {2}\})))?,\n/gm;

/** The words with the sections of one page only: the words of the other page would be half of its own. */
export const wordsFor = (page: PageName, source: string): string =>
  source.replaceAll(SECTION, (section, name: string) => {
    const isShown = page === "inspector" ? INSPECTOR_WORDS.includes(name) : name !== "inspector";
    return isShown ? section : "";
  });
const wordsPlugin = (page: PageName): BunPlugin => ({
  name: "words",
  setup: (build) => {
    build.onLoad({ filter: /[\\/]words[\\/](?:en|de)\.ts$/ }, async ({ path }) => ({
      contents: wordsFor(page, await readFile(path, "utf8")),
      loader: "ts",
    }));
  },
});

const bundle = async (page: PageName, entrypoints: readonly string[]) => {
  const root = import.meta.dir;
  const built = await Bun.build({
    entrypoints: entrypoints.map((entry) => join(root, entry)),
    root,
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    publicPath: "/assets/",
    naming: { entry: "[name]-[hash].[ext]", chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", importSource: "preact" },
    plugins: [wordsPlugin(page)],
    throw: false,
  });
  if (!built.success) throw new Error(`the build of the web pages failed:\n${built.logs.join("\n")}`);
  return built.outputs;
};

/** Builds both pages. The output is deterministic. @throws Error with the message of the bundler. */
export const buildWeb = async (): Promise<Web> => {
  const outputs = [
    ...(await bundle("console", ["console/console.tsx", "style/pages.css"])),
    ...(await bundle("inspector", ["inspector/inspector.tsx"])),
  ];
  const files = new Map<string, WebFile>();
  const pages = new Map<string, WebPage>();
  const styles: string[] = [];
  for (const output of outputs) {
    const name = basename(output.path);
    // Both pages have some parts in common.
    if (files.has(name)) continue;
    const raw = new Uint8Array(await output.arrayBuffer());
    files.set(name, await packed(name, raw));
    const page = name.replace(/-[^-]+$/, "");
    if (name.endsWith(".css")) styles.push(name);
    else if (output.kind === "entry-point")
      pages.set(page, { script: name, styles: [], preload: preloadsOf(new TextDecoder().decode(raw)) });
  }
  const pageOf = (name: PageName): WebPage => {
    const page = pages.get(name);
    if (!page) throw new Error(`the build has no ${name}`);
    return { ...page, styles };
  };
  return { files: [...files.values()], pages: { console: pageOf("console"), inspector: pageOf("inspector") } };
};
