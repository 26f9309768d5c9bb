// Decodes AVIF with libavif (WebAssembly) if an 8-bit PNG represents it without loss.
import { readFileSync } from "node:fs";
import decoderFile from "@jsquash/avif/codec/dec/avif_dec.wasm" with { type: "file" };
import { latin1, Unreadable } from "../byte-source.ts";
import { type Box, boxesIn, boxIn, viewOf } from "../formats/mp4-boxes.ts";
import type { Pixels } from "./png.ts";

const asIs = (why: string): never => {
  throw new Unreadable(`${why}: it stays as it is`);
};

/**
 * Transfer characteristics that match a PNG without colour information: BT.709, unspecified, BT.601, sRGB, BT.2020 of 10 and 12
 * bits.
 */
const USUAL_CURVES = new Set([1, 2, 6, 13, 14, 15]);

/** Returns the properties of all items in the file. If one of them cannot be represented in PNG, the file is not converted. */
const propertiesOf = (bytes: Uint8Array): Box[] => {
  const meta = boxesIn(bytes, 0, bytes.length).find(({ name }) => name === "meta");
  const container = boxIn(bytes, boxIn(bytes, meta, "iprp", 4), "ipco");
  return container ? boxesIn(bytes, container.start, container.end) : asIs("its properties are not found");
};

/** The colour profile of a convertible picture. @throws Unreadable if the conversion to PNG would lose information */
const profileOf = (bytes: Uint8Array, mostPixels: number): Uint8Array | undefined => {
  const view = viewOf(bytes);
  if (boxesIn(bytes, 0, bytes.length).some(({ name }) => name === "moov")) asIs("it moves");
  let profile: Uint8Array | undefined;
  for (const { name, start, end } of propertiesOf(bytes)) {
    // Every picture, tile and mask has an `ispe` box.
    if (name === "ispe" && view.getUint32(start + 4) * view.getUint32(start + 8) > mostPixels)
      asIs("it is too large to be converted");
    if (name === "irot" || name === "imir" || name === "clap") asIs("it is turned or cropped as it is shown");
    // Bit 6 of the third byte is set for 10 or 12 bits.
    if (name === "av1C" && view.getUint8(start + 2) & 0x40) asIs("it has more than eight bits a channel");
    if (name !== "colr") continue;
    const kind = latin1(bytes.subarray(start, start + 4));
    if (kind === "prof" || kind === "rICC") profile = bytes.subarray(start + 4, end);
    else if (kind === "nclx" && !USUAL_CURVES.has(view.getUint16(start + 6))) asIs("it has a wider range of brightness");
  }
  return profile;
};

/** Substitute for the browser class `ImageData`, which the decoder needs and Bun does not provide. */
class BarePixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  constructor(data: Uint8ClampedArray, width: number, height: number) {
    this.data = data;
    this.width = width;
    this.height = height;
  }
}

/** Loaded for the first picture, in the sandbox child that decodes it. */
let decoder: Promise<(bytes: ArrayBuffer) => Promise<BarePixels>> | undefined;
const loadDecoder = async () => {
  Object.assign(globalThis, { ImageData: BarePixels });
  const { default: decode, init } = await import("@jsquash/avif/decode.js");
  await init(await WebAssembly.compile(readFileSync(decoderFile)));
  return async (bytes: ArrayBuffer) => (await decode(bytes)) as unknown as BarePixels;
};

/** @throws Unreadable */
export const decodeAvif = async (
  bytes: Uint8Array,
  mostPixels: number,
): Promise<{ pixels: Pixels; profile: Uint8Array | undefined }> => {
  const profile = profileOf(bytes, mostPixels);
  decoder ??= loadDecoder();
  const decode = await decoder;
  const made = await decode(Uint8Array.from(bytes).buffer).catch((fault: unknown) =>
    fault instanceof RangeError ? Promise.reject(fault) : asIs("it cannot be decoded"),
  );
  return { pixels: { width: made.width, height: made.height, rgba: made.data }, profile };
};
