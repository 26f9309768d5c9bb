// Media inside requests: data URIs and base64, checked as strictly as the providers document.
import type { Json, MediaKind } from "../domain/types.ts";

const BYTES_PER_MB = 1_048_576;
const DATA_URI = /^data:(image|video|audio)\/[a-z0-9.+-]+;base64,/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The bytes of a text that is base64 as a whole, with its padding; undefined for any other text. */
const decoded = (text: string): Buffer | undefined => {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  return Buffer.from(text, "base64");
};

/** The media type of a picture by its first bytes. */
const pictureType = (bytes: Buffer): string | undefined => {
  if (bytes.subarray(0, 4).toString("hex") === "89504e47") return "image/png";
  if (bytes.subarray(0, 3).toString("hex") === "ffd8ff") return "image/jpeg";
  return bytes.subarray(0, 4).toString("latin1") === "RIFF" && bytes.subarray(8, 12).toString("latin1") === "WEBP"
    ? "image/webp"
    : undefined;
};

const isLink = (value: string): boolean => /^https?:\/\//i.test(value);

/**
 * A value that must be a link or a data URI of these kinds, of at most so many megabytes before its encoding; null for any other
 * value.
 */
export const linkOrDataUri = (value: Json | undefined, kinds: readonly MediaKind[], mostMb: number): Json => {
  if (typeof value !== "string") return null;
  if (isLink(value)) return value;
  const [begin = "", kind] = DATA_URI.exec(value) ?? [];
  const bytes = kinds.some((one) => one === kind) ? decoded(value.slice(begin.length)) : undefined;
  return bytes !== undefined && bytes.length <= mostMb * BYTES_PER_MB ? value : null;
};

/**
 * A value that must be a link or a picture in plain base64, of at most so many megabytes before its encoding. The picture is
 * returned as a data URI; null for any other value.
 */
export const linkOrBase64 = (value: Json | undefined, mostMb: number): Json => {
  if (typeof value !== "string") return null;
  if (isLink(value)) return value;
  const bytes = decoded(value);
  const mime = bytes && pictureType(bytes);
  return bytes && mime && bytes.length <= mostMb * BYTES_PER_MB ? `data:${mime};base64,${value}` : null;
};
