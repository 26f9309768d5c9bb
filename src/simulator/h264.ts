// H.264 writer: flat-coloured key frames and unchanged frames of minimal size.

/** A colour in YCbCr; each component is from 16 to 235. */
export type Colour = { y: number; cb: number; cr: number };
/** Writes the frames of one size for an MP4. */
export type FrameWriter = {
  codec: string;
  description: Uint8Array;
  keyFrame(c: Colour): Uint8Array;
  still(n: number): Uint8Array;
};

/** Appends single bits and Exp-Golomb codes (ITU-T H.264, 9.1). */
const bitWriter = () => {
  const bytes: number[] = [];
  let held = 0;
  let count = 0;
  const bits = (value: number, width: number) => {
    for (let i = width - 1; i >= 0; i--) {
      held = (held << 1) | ((value >>> i) & 1);
      if (++count < 8) continue;
      bytes.push(held);
      held = 0;
      count = 0;
    }
  };
  const ue = (value: number) => {
    const width = 32 - Math.clz32(value + 1);
    bits(0, width - 1);
    bits(value + 1, width);
  };
  const align = () => {
    if (count > 0) bits(0, 8 - count);
  };
  const run = (value: number, times: number) => {
    for (let i = 0; i < times; i++) bytes.push(value);
  };
  /** Ends a unit with its stop bit. */
  const done = () => {
    bits(1, 1);
    align();
    return bytes;
  };
  return { bits, ue, align, run, done };
};

/** One NAL unit. A 3 is inserted after two zeros wherever the payload could be parsed as a start code (7.4.1). */
const unit = (head: number, payload: readonly number[]): Uint8Array => {
  const out = [head];
  let zeros = 0;
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      out.push(3);
      zeros = 0;
    }
    out.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Uint8Array.from(out);
};

/** MP4 prefixes each unit with its length. */
const sized = (nal: Uint8Array): Uint8Array => {
  const out = new Uint8Array(4 + nal.length);
  new DataView(out.buffer).setUint32(0, nal.length);
  out.set(nal, 4);
  return out;
};

/** Levels by macroblocks of one frame (table A-1), for 30 frames a second. */
const LEVELS = [
  [1620, 30],
  [3600, 31],
  [8192, 40],
  [22080, 50],
  [36864, 52],
  [139264, 62],
] as const;

/**
 * Creates a writer of Constrained Baseline frames. `width` and `height` are even and at most 8192 px. The frame number counts
 * from the key frame in 16 bits, so a key frame is required before 65,536 stills.
 */
export const frameWriter = (width: number, height: number): FrameWriter => {
  const columns = Math.ceil(width / 16);
  const rows = Math.ceil(height / 16);
  const level = LEVELS.find(([most]) => columns * rows <= most)?.[1] ?? 62;

  const s = bitWriter();
  s.bits(66, 8);
  s.bits(0xc0, 8);
  s.bits(level, 8);
  s.ue(0);
  s.ue(12); // 16-bit frame numbers
  s.ue(2); // frames are displayed in decoding order
  s.ue(1);
  s.bits(0, 1);
  s.ue(columns - 1);
  s.ue(rows - 1);
  s.bits(0b11, 2);
  const cropRight = (columns * 16 - width) / 2;
  const cropBottom = (rows * 16 - height) / 2;
  s.bits(cropRight + cropBottom > 0 ? 1 : 0, 1);
  if (cropRight + cropBottom > 0) for (const part of [0, cropRight, 0, cropBottom]) s.ue(part);
  s.bits(0, 1);
  const sps = unit(0x67, s.done());

  const p = bitWriter();
  p.ue(0);
  p.ue(0);
  p.bits(0, 2);
  for (let i = 0; i < 3; i++) p.ue(0);
  p.bits(0, 3);
  for (let i = 0; i < 3; i++) p.ue(0);
  p.bits(0b100, 3);
  const pps = unit(0x68, p.done());

  const description = Uint8Array.from([
    1,
    66,
    0xc0,
    level,
    0xff,
    0xe1,
    sps.length >> 8,
    sps.length & 255,
    ...sps,
    1,
    pps.length >> 8,
    pps.length & 255,
    ...pps,
  ]);

  let idr = 0;
  const keyFrame = ({ y, cb, cr }: Colour) => {
    const b = bitWriter();
    b.ue(0);
    b.ue(7);
    b.ue(0);
    b.bits(0, 16);
    b.ue(idr); // consecutive key frames must differ here
    idr ^= 1;
    b.bits(0, 2);
    b.ue(0);
    b.ue(1);
    // The first macroblock contains plain samples; all others are predicted from it without a residual.
    b.ue(25);
    b.align();
    b.run(y, 256);
    b.run(cb, 64);
    b.run(cr, 64);
    for (let n = 1; n < columns * rows; n++) {
      b.ue(3);
      b.ue(0);
      b.ue(0);
      // Next to or below the plain macroblock the "no coefficients" code differs (9.2.1: nC is 16 there).
      if (n === 1 || n === columns) b.bits(0b000011, 6);
      else b.bits(1, 1);
    }
    return sized(unit(0x65, b.done()));
  };

  const still = (n: number) => {
    const b = bitWriter();
    b.ue(0);
    b.ue(5);
    b.ue(0);
    b.bits(n & 0xffff, 16);
    b.bits(0, 3);
    b.ue(0);
    b.ue(1);
    b.ue(columns * rows);
    return sized(unit(0x41, b.done()));
  };

  return { codec: `avc1.42c0${level.toString(16).padStart(2, "0")}`, description, keyFrame, still };
};
