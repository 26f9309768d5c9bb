// What a page says about an uploaded file in one line.
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import { bytesText } from "../generations/files.tsx";

/** `PNG` of `image/png`, `MP3` of `audio/mpeg`. */
export const formatOf = ({ mime }: Pick<UploadedFileDto, "mime">): string => {
  const name = (mime.split("/")[1] ?? mime).replace(/^x-/, "");
  return name === "mpeg" ? "MP3" : name.toUpperCase();
};

/** `640 × 480`, `4.0 s`, or both. */
export const sizeOf = ({ width, height, durationMs }: Pick<UploadedFileDto, "width" | "height" | "durationMs">): string =>
  [
    ...(width === null ? [] : [`${width} × ${height}`]),
    ...(durationMs === null ? [] : [`${(durationMs / 1000).toFixed(1)} s`]),
  ].join(" · ");

/** `640 × 480 · 4.0 s · 1.2 MB` */
export const factsOf = (file: UploadedFileDto): string => [sizeOf(file), bytesText(file.bytes)].filter(Boolean).join(" · ");
