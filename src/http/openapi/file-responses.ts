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
/** File types of section 4.3 of docs/interface.md. */
const FILE_TYPES = ["video/mp4", "image/png", "image/jpeg", "image/webp", "audio/mpeg", "audio/wav"];
/** Additional types: provider results that cannot be converted to the types above without loss. */
const OTHER_FILE_TYPES = [
  ...["audio/flac", "audio/ogg", "audio/mp4", "audio/aac", "audio/webm"],
  ...["image/gif", "image/svg+xml", "image/heic", "image/tiff", "video/webm", "video/quicktime"],
  ...["model/gltf-binary", "application/octet-stream"],
];
const FILE_DESCRIPTION =
  "The file with its content type. Images and clips of other types are converted to one of the first types if that is possible without loss. Other files are delivered unchanged. Their types are marked `x-extension`, and the list is not complete. A file that a browser could run is sent as an attachment.";
const binary = { schema: { type: "string", format: "binary" } };
export const file = (more: string[], ...list: No[]): JsonObject => {
  const content = Object.fromEntries([
    ...FILE_TYPES.map((type) => [type, binary]),
    ...OTHER_FILE_TYPES.map((type) => [type, { ...binary, ...EXTENSION }]),
  ]) as JsonObject;
  const names = [...FILE_HEADERS, ...more];
  return {
    "200": { description: FILE_DESCRIPTION, headers: headers(...names), content },
    "206": { description: "The byte range that `Range` requests.", headers: headers(...names, "Content-Range"), content },
    "304": { description: "The stored copy of the caller is current.", headers: headers(...names) },
    ...noes(
      {
        code: "invalid_request",
        status: 416,
        when: "The requested range is outside the file.",
        headers: [...names, "Content-Range"],
      },
      ...list,
    ),
  };
};
export const redirect = (...more: string[]) => ({
  "302": {
    description: "The file is at a temporary address. Follow the redirect without the key.",
    headers: headers("Cache-Control", "Location", "Referrer-Policy", ...more),
  },
});
