// Describes responses that are result files: their types, headers and redirects.
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, headers, type No, noes } from "./components.ts";

/** Headers that allow pages of other sites to read a response. */
export const READABLE_HEADERS = ["Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];

const FILE_HEADERS = [
  "Cache-Control",
  "ETag",
  "Accept-Ranges",
  "Content-Disposition",
  "Content-Security-Policy",
  "Referrer-Policy",
];
/** File types of the specification, and audio. */
const FILE_TYPES = ["video/mp4", "image/png", "image/jpeg", "image/webp", "audio/mpeg", "audio/wav"];
/** Extension of the specification: provider results of other types that cannot be converted without loss. */
const OTHER_FILE_TYPES = [
  ...["audio/flac", "audio/ogg", "audio/mp4", "audio/aac", "audio/webm"],
  ...["image/gif", "image/svg+xml", "image/heic", "image/tiff", "video/webm", "video/quicktime"],
  ...["model/gltf-binary", "application/octet-stream"],
];
const FILE_DESCRIPTION =
  "The file, under the content type that its bytes have. Pictures and clips are one of the specification's types wherever they can be brought into one without loss; what cannot is delivered as it is (marked `x-extension`; there may be others than those listed), for saving where a browser could run it.";
const binary = { schema: { type: "string", format: "binary" } };
export const file = (more: string[], ...list: No[]): JsonObject => {
  const content = Object.fromEntries([
    ...FILE_TYPES.map((type) => [type, binary]),
    ...OTHER_FILE_TYPES.map((type) => [type, { ...binary, ...EXTENSION }]),
  ]) as JsonObject;
  const names = [...FILE_HEADERS, ...more];
  return {
    "200": { description: FILE_DESCRIPTION, headers: headers(...names), content },
    "206": { description: "The part that `Range` asked for.", headers: headers(...names, "Content-Range"), content },
    "304": { description: "The caller has the file already.", headers: headers(...names) },
    ...noes(
      { code: "invalid_request", status: 416, when: "The file has no such part.", headers: [...names, "Content-Range"] },
      ...list,
    ),
  };
};
export const redirect = (...more: string[]) => ({
  "302": {
    description: "The file is at a short-lived address, which needs no key: follow it without one.",
    headers: headers("Cache-Control", "Location", "Referrer-Policy", ...more),
  },
});
