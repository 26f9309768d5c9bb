// Converts a still picture of an uncommon format to PNG without loss.
import { type ByteReader, Unreadable } from "../byte-source.ts";
import { readPictureHeader } from "../formats/picture-header.ts";
import { decodeAvif } from "./avif.ts";
import { writePng } from "./png.ts";

/** Decoding AVIF takes this many times the time and memory of the other formats. */
const AVIF_WEIGHT = 4;

/**
 * @param mostPixels larger pictures are not opened
 * @throws Unreadable if the picture cannot be converted
 */
export const toPng = async (file: ByteReader, mime: string, mostPixels: number): Promise<Uint8Array> => {
  const bytes = await file.read(0, await file.sizeBytes());
  if (mime === "image/avif") {
    const { pixels, profile } = await decodeAvif(bytes, mostPixels / AVIF_WEIGHT);
    return writePng(pixels, profile);
  }
  const { width, height } = await readPictureHeader(file);
  if (width * height > mostPixels) throw new Unreadable("it is too large to be converted: it stays as it is");
  return new Bun.Image(bytes, { maxPixels: mostPixels })
    .png()
    .bytes()
    .catch(() => {
      throw new Unreadable("it cannot be decoded: it stays as it is");
    });
};
