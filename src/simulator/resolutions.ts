// Sizes of results by resolution and aspect ratio.

/** Pixels; both even. */
export type Size = { width: number; height: number };

/** Short side of a clip by the name of its resolution. */
const CLIP_SHORT_SIDE: Readonly<Record<string, number>> = {
  "360p": 360,
  "480p": 480,
  "540p": 540,
  "720p": 720,
  "768p": 768,
  "1080p": 1080,
  "1440p": 1440,
  "2160p": 2160,
  "1k": 720,
  "2k": 1440,
  "4k": 2160,
};

/** Side of the square whose area an image approximates. */
const PICTURE_SIDE: Readonly<Record<string, number>> = { "0.5k": 512, "1k": 1024, "2k": 2048, "4k": 4096 };

/** Named sizes that image endpoints accept as `image_size`. */
const NAMED: Readonly<Record<string, Size>> = {
  square_hd: { width: 1024, height: 1024 },
  square: { width: 512, height: 512 },
  portrait_4_3: { width: 768, height: 1024 },
  portrait_16_9: { width: 576, height: 1024 },
  landscape_4_3: { width: 1024, height: 768 },
  landscape_16_9: { width: 1024, height: 576 },
};

const MAX_PIXELS = 8192;
const up16 = (n: number) => Math.min(MAX_PIXELS, Math.max(16, Math.ceil(n / 16 - 1e-6) * 16));
const near16 = (n: number) => Math.min(MAX_PIXELS, Math.max(16, Math.round(n / 16) * 16));
const even = (n: number) => Math.min(MAX_PIXELS, Math.max(2, Math.round(n / 2) * 2));

/** A requested size in pixels, rounded to even, at most 8192 on each side. */
export const evenSize = ({ width, height }: Size): Size => ({ width: even(width), height: even(height) });

/** `16:9` → 1.777…; undefined for `auto`, `adaptive` and anything but two numbers. */
export const ratioOf = (shape: unknown): number | undefined => {
  const parts = typeof shape === "string" ? /^(\d+(?:\.\d+)?)[:/](\d+(?:\.\d+)?)$/.exec(shape.trim()) : null;
  const ratio = parts ? Number(parts[1]) / Number(parts[2]) : Number.NaN;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
};

/** The short side is `short`; the long side follows `ratio` and is rounded up to a multiple of 16. 480 at 16:9 is 864x480. */
const around = (short: number, ratio: number): Size => {
  const clamped = Math.min(4, Math.max(0.25, ratio));
  return clamped >= 1 ? { width: up16(short * clamped), height: short } : { width: short, height: up16(short / clamped) };
};

/** Size of a clip: short side by resolution (720 if unknown), long side by ratio, both even. */
export const clipSize = (resolution: unknown, ratio: number): Size =>
  around(CLIP_SHORT_SIDE[String(resolution).toLowerCase()] ?? shortSideIn(String(resolution)) ?? 720, ratio);

/** `1088p`: a short side in pixels. */
const shortSideIn = (resolution: string): number | undefined => {
  const declared = /^(\d{2,4})p$/i.exec(resolution)?.[1];
  return declared === undefined ? undefined : even(Number(declared));
};

/** Size of an image: 1K at 16:9 is 1376x768, 2K at 1:1 is 2048x2048. Resolutions with a clip's name follow `clipSize`. */
export const pictureSize = (resolution: unknown, ratio: number): Size => {
  const name = String(resolution).toLowerCase();
  const side = PICTURE_SIDE[name];
  if (side === undefined && CLIP_SHORT_SIDE[name] !== undefined) return clipSize(name, ratio);
  const clamped = Math.min(4, Math.max(0.25, ratio));
  return around(near16((side ?? 1024) / Math.sqrt(Math.max(clamped, 1 / clamped))), clamped);
};

/** An explicit size: a name, `1536x1024`, or `{ width, height }`. Undefined for anything else. */
export const parsedSize = (declared: unknown): Size | undefined => {
  if (typeof declared === "string") {
    const parts = /^(\d{1,5})\s*[x*×]\s*(\d{1,5})$/.exec(declared);
    return NAMED[declared] ?? (parts ? evenSize({ width: Number(parts[1]), height: Number(parts[2]) }) : undefined);
  }
  if (typeof declared !== "object" || declared === null) return undefined;
  const { width, height } = declared as Record<string, unknown>;
  return typeof width === "number" && typeof height === "number" ? evenSize({ width, height }) : undefined;
};
