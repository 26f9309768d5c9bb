// Reads the size of an SVG from its root element and checks its end.
import { latin1 } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import { afterPreamble, drawingRoot } from "./detect-format.ts";
import type { Inspection } from "./inspection.ts";

/** Maximum length of the root element; some writers declare dozens of namespaces there. */
const MAX_ROOT_BYTES = 64 * 1024;
/** The root must be closed within the last bytes, or before them if only comments follow. */
const TAIL_BYTES = 1024;
const MAX_TAIL_BYTES = 64 * 1024;

const closes = (tail: string): boolean => {
  if (/<\/(svg:)?svg\s{0,64}>/i.test(tail.slice(-TAIL_BYTES))) return true;
  const at = tail.lastIndexOf("</svg");
  const rest = tail.slice(tail.indexOf(">", at) + 1);
  return at >= 0 && afterPreamble(rest) === rest.length;
};

/** Matches an element that can be drawn. Scripts count, because they can draw; descriptive elements do not. */
const DRAWN = /<(?:[\w-]{1,40}:)?(?!title\b|desc\b|metadata\b|style\b)[a-z]/i;

/** CSS pixels for each unit. */
const UNITS: Record<string, number> = { "": 1, px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 96 / 2.54, mm: 96 / 25.4 };

const pixels = (value: string | undefined): number | undefined => {
  const found = /^\s{0,8}\+?(\d{1,9}(?:\.\d{0,9})?)(px|pt|pc|in|cm|mm)?\s{0,8}$/.exec(value ?? "");
  return found ? Number(found[1]) * (UNITS[found[2] ?? ""] ?? 1) : undefined;
};

const attribute = (root: string, name: string): string | undefined =>
  new RegExp(`\\s${name}\\s{0,8}=\\s{0,8}(?:"([^"<]{0,200})"|'([^'<]{0,200})')`)
    .exec(root)
    ?.slice(1)
    .find((value) => value !== undefined);

const sizeOf = (root: string): { width: number; height: number } | undefined => {
  const [, , boxWidth = 0, boxHeight = 0] = (attribute(root, "viewBox") ?? "")
    .trim()
    .split(/[\s,]{1,8}/)
    .map(Number);
  const [width, height] = [pixels(attribute(root, "width")), pixels(attribute(root, "height"))];
  const ratio = boxWidth > 0 && boxHeight > 0 ? boxWidth / boxHeight : undefined;
  const size = {
    width: Math.round(width ?? (height && ratio ? height * ratio : boxWidth)),
    height: Math.round(height ?? (width && ratio ? width / ratio : boxHeight)),
  };
  return size.width > 0 && size.height > 0 ? size : undefined;
};

export const readDrawing = async (cursor: Cursor): Promise<Inspection> => {
  const length = Math.min(cursor.sizeBytes, MAX_ROOT_BYTES);
  await cursor.load(0, length);
  const bytes = cursor.part(0, length);
  const text = latin1(bytes);
  const start = drawingRoot(bytes);
  const end = text.indexOf(">", start);
  const root = end < 0 ? "" : text.slice(start, end);
  const tailAt = Math.max(0, cursor.sizeBytes - MAX_TAIL_BYTES);
  await cursor.load(tailAt, cursor.sizeBytes - tailAt);
  const tail = latin1(cursor.part(tailAt, cursor.sizeBytes - tailAt));
  // A short file is loaded entirely, so any drawn element or its container is found.
  const isEmpty = root.endsWith("/") || (length === cursor.sizeBytes && !DRAWN.test(text.slice(end)));
  const isComplete = closes(tail) && !isEmpty;
  return { mime: "image/svg+xml", kind: "image", ...sizeOf(root), isComplete };
};
