// Serves the assets of the documentation pages: styles, two scripts and Scalar, under content-hashed names.
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ApiError } from "../../domain/api-errors.ts";
import { takes } from "../accept-encoding.ts";
import { signAnswer } from "../response.ts";
import before from "./assets/before.js" with { type: "text" };
import docsCss from "./assets/docs.css" with { type: "text" };
import favicon from "./assets/favicon.svg" with { type: "text" };
import guidesCss from "./assets/guides.css" with { type: "text" };
import guides from "./assets/guides.js" with { type: "text" };
import referenceCss from "./assets/reference.css" with { type: "text" };
import reference from "./assets/reference.js" with { type: "text" };
import scalar from "./assets/scalar.js.gz" with { type: "file" };
import origin from "./assets/scalar.json" with { type: "json" };

const YEAR_S = 31_536_000;
const DAY_S = 86_400;
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
const plain = (type: string, text: string) => ({ type, text, path: "", hash: sha256(text) });
const ASSETS = {
  "favicon.svg": plain("image/svg+xml", favicon),
  "before.js": plain(SCRIPT, before),
  "reference.js": plain(SCRIPT, reference),
  "reference.css": plain(STYLE, referenceCss),
  "docs.css": plain(STYLE, docsCss),
  "guides.css": plain(STYLE, guidesCss),
  "guides.js": plain(SCRIPT, guides),
  /** Stored compressed and served as stored. Decompressed once for clients that do not accept the coding. */
  "scalar.js": { type: SCRIPT, text: "", path: scalar, hash: origin.gzip_sha256 },
};
type Name = keyof typeof ASSETS;

const hashed = (name: Name): string => name.replace(".", `-${ASSETS[name].hash.slice(0, 12)}.`);
const BY_HASHED_NAME = new Map((Object.keys(ASSETS) as Name[]).map((name) => [hashed(name), ASSETS[name]]));

/** URL path of an asset. */
export const assetPath = (name: Name): string => `/docs/assets/${hashed(name)}`;

const unzip = promisify(gunzip);
const kept = new Map<string, Promise<Blob>>();
/** Built for the first request and shared by later ones. A failed build is repeated by the next request. */
const once = (name: string, make: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Blob> => {
  const known = kept.get(name);
  if (known) return known;
  const made = make().then((bytes) => new Blob([bytes]));
  made.catch(() => kept.delete(name));
  kept.set(name, made);
  return made;
};
const packedAt = (path: string): Promise<Blob> => once(path, () => Bun.file(path).bytes());
/** Decompressed off the event loop. */
const plainAt = (path: string): Promise<Blob> =>
  once(`${path} plain`, async () => new Uint8Array(await unzip(await (await packedAt(path)).bytes())));

/** The mark of the product for clients that request `/favicon.ico` without having read a page. */
export const answerIcon = (requestId: string): Response => {
  const { type, text } = ASSETS["favicon.svg"];
  return signAnswer(
    new Response(text, { headers: { "content-type": type, "cache-control": `public, max-age=${DAY_S}` } }),
    requestId,
  );
};

/** Serves an asset of a page. @throws ApiError `not_found` for a name that is not part of this build. */
export const answerAsset = async (request: Request, requestId: string, name: string): Promise<Response> => {
  const asset = BY_HASHED_NAME.get(name);
  if (!asset) throw new ApiError("not_found", "File not found. /docs contains the current file names.");
  const headers = new Headers({ "content-type": asset.type, "cache-control": `public, max-age=${YEAR_S}, immutable` });
  if (asset.path === "") return signAnswer(new Response(asset.text, { headers }), requestId);
  headers.set("vary", "Accept-Encoding");
  const isPacked = takes(request, "gzip");
  if (isPacked) headers.set("content-encoding", "gzip");
  return signAnswer(new Response(await (isPacked ? packedAt(asset.path) : plainAt(asset.path)), { headers }), requestId);
};
