// Builds the console and the inspector: bundles with content-hashed names, compressed ahead of time.
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { type BrotliOptions, brotliCompress, constants, gzip as gzipCompress, type ZlibOptions } from "node:zlib";
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

/** Applications have separate bundles, so that no part of one is loaded with the other. */
const bundle = async (entrypoints: readonly string[]) => {
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
    throw: false,
  });
  if (!built.success) throw new Error(`the build of the web pages failed:\n${built.logs.join("\n")}`);
  return built.outputs;
};

/** Builds both pages. The output is deterministic. @throws Error with the message of the bundler. */
export const buildWeb = async (): Promise<Web> => {
  const outputs = [...(await bundle(["console/console.tsx", "style/pages.css"])), ...(await bundle(["inspector/inspector.tsx"]))];
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
