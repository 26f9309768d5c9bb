// Wrong deliveries: valid files that differ from the order.
//
// They are shorter, smaller, of another ratio, silent, fewer, or of another kind.
import { type Fault, isFault, numberOf } from "./faults.ts";
import type { Sketch } from "./media-factory.ts";
import type { ParsedRequest } from "./parse-request.ts";
import { evenSize, type Size } from "./resolutions.ts";

const OTHER_KIND = { image: "mp4", video: "png", audio: "png" } as const;

/** Another aspect ratio that is not smaller: rotated, or wider for a square. */
const turned = ({ width, height }: Size): Size =>
  Math.abs(width - height) > width / 10 ? { width: height, height: width } : evenSize({ width: width * 1.5, height });

const sketchOtherwise = ({ kind, sketch }: ParsedRequest, fault: Fault | undefined): Sketch => {
  if (isFault(fault, "wrong-kind")) return { ...sketch, format: OTHER_KIND[kind], width: 640, height: 360, ms: 2000 };
  if (isFault(fault, "short", "long")) return { ...sketch, ms: Math.max(100, Math.round(sketch.ms * numberOf(fault, "share"))) };
  if (isFault(fault, "small")) {
    const share = numberOf(fault, "share");
    return { ...sketch, ...evenSize({ width: sketch.width * share, height: sketch.height * share }) };
  }
  if (isFault(fault, "wrong-aspect")) return { ...sketch, ...turned(sketch) };
  return isFault(fault, "silent") ? { ...sketch, sound: false } : sketch;
};

/** The result of a request with a delivery fault. */
export const otherwise = (parsed: ParsedRequest, fault: Fault | undefined): ParsedRequest => ({
  ...parsed,
  count: isFault(fault, "fewer") ? Math.min(parsed.count, Math.max(1, Math.floor(numberOf(fault, "files")))) : parsed.count,
  sketch: sketchOtherwise(parsed, fault),
});
