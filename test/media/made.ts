// Builders of small media files with a chosen size and length.
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from "mediabunny";

const le32 = (value: number) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >> 24) & 255];

/** A black BMP of 24 bits per pixel, from which the other pictures are made. */
export const bmp = (width: number, height: number): Uint8Array => {
  const rowBytes = Math.ceil((width * 3) / 4) * 4;
  const file = new Uint8Array(54 + rowBytes * height);
  file.set([0x42, 0x4d, ...le32(file.length), 0, 0, 0, 0, ...le32(54)]);
  file.set([...le32(40), ...le32(width), ...le32(height), 1, 0, 24, 0], 14);
  return file;
};

export const png = (width = 64, height = 48): Promise<Uint8Array> => new Bun.Image(bmp(width, height)).png().bytes();
export const jpeg = (width = 64, height = 48): Promise<Uint8Array> => new Bun.Image(bmp(width, height)).jpeg().bytes();
/** Inserts `notes` metadata segments before the size of a JPEG. */
export const noted = (picture: Uint8Array, notes: number): Uint8Array => {
  const note = Buffer.alloc(60_002);
  note.set([0xff, 0xe1, 0xea, 0x60]);
  return Buffer.concat([picture.subarray(0, 2), ...Array.from({ length: notes }, () => note), picture.subarray(2)]);
};
export const webp = (width = 64, height = 48): Promise<Uint8Array> => new Bun.Image(bmp(width, height)).webp().bytes();

/** Silence: 8 kHz, 16 bit, one channel. */
export const wav = (seconds: number): Uint8Array => {
  const bytes = Math.round(seconds * 8000) * 2;
  const file = new Uint8Array(44 + bytes);
  const text = (at: number, value: string) => file.set(new TextEncoder().encode(value), at);
  text(0, "RIFF");
  file.set(le32(36 + bytes), 4);
  text(8, "WAVEfmt ");
  file.set([...le32(16), 1, 0, 1, 0, ...le32(8000), ...le32(16_000), 2, 0, 16, 0], 16);
  text(36, "data");
  file.set(le32(bytes), 40);
  return file;
};

/** Silence as MPEG 2 layer III frames of 96 bytes and 24 ms (24 kHz, 32 kbit/s), without any header. */
export const mp3 = (seconds: number): Uint8Array => {
  const frame = new Uint8Array(96);
  frame.set([0xff, 0xf3, 0x44, 0xc4]);
  const frames = Math.ceil((seconds * 24_000) / 576);
  const file = new Uint8Array(frames * frame.length);
  for (let n = 0; n < frames; n++) file.set(frame, n * frame.length);
  return file;
};

/** Writes bits, most significant first, with the exponential Golomb codes of H.264. */
const bits = () => {
  let text = "";
  const u = (value: number, count: number) => {
    text += value.toString(2).padStart(count, "0");
  };
  return {
    u,
    ue: (value: number) => {
      const code = (value + 1).toString(2);
      text += "0".repeat(code.length - 1) + code;
    },
    bytes: () => {
      text += "1";
      text = text.padEnd(Math.ceil(text.length / 8) * 8, "0");
      return Uint8Array.from(text.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
    },
  };
};

/** Decoder configuration of a Constrained Baseline stream; sizes are multiples of 16. */
const avcConfig = (width: number, height: number): Uint8Array => {
  const sps = bits();
  for (const byte of [0x67, 66, 0xc0, 31]) sps.u(byte, 8);
  for (const value of [0, 0, 2, 1]) sps.ue(value);
  sps.u(0, 1);
  sps.ue(width / 16 - 1);
  sps.ue(height / 16 - 1);
  for (const flag of [1, 1, 0, 0]) sps.u(flag, 1);
  const pps = Uint8Array.of(0x68, 0xce, 0x38, 0x80);
  const spsBytes = sps.bytes();
  return Uint8Array.of(1, 66, 0xc0, 31, 0xff, 0xe1, 0, spsBytes.length, ...spsBytes, 1, 0, pps.length, ...pps);
};

type ClipWish = {
  seconds: number;
  width?: number;
  height?: number;
  audio?: boolean;
  /** The position of the index. */
  index?: "front" | "end" | "fragments";
  /** Size of each of the 25 frames in a second: makes the file as large as a test needs. */
  frameBytes?: number;
  /** Frames in a second. */
  rate?: number;
  /** Length of the sound, if it differs from that of the picture. */
  soundSeconds?: number;
};

/** An MP4 with the given number of H.264 packets. Their content is noise, because no test decodes them. */
export const mp4 = async (request: ClipWish) => {
  const { seconds, width = 320, height = 176, audio = false, index = "front", frameBytes = 64, rate = 25 } = request;
  const { soundSeconds = seconds } = request;
  const target = new BufferTarget();
  const fastStart = { front: "in-memory", end: false, fragments: "fragmented" } as const;
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: fastStart[index] }), target });
  const video = new EncodedVideoPacketSource("avc");
  output.addVideoTrack(video, { frameRate: rate });
  const sound = new EncodedAudioPacketSource("aac");
  if (audio) output.addAudioTrack(sound);
  await output.start();
  const decoderConfig = { codec: "avc1.42c01f", codedWidth: width, codedHeight: height, description: avcConfig(width, height) };
  const soundConfig = { codec: "mp4a.40.2", numberOfChannels: 1, sampleRate: 48_000, description: Uint8Array.of(0x11, 0x88) };
  let soundS = 0;
  const heardTo = async (endS: number) => {
    while (audio && soundS < Math.min(soundSeconds, endS)) {
      const packet = new EncodedPacket(
        // One frame of silence.
        Uint8Array.of(0, 0xc8, 0, 0x80, 0x23, 0x80),
        "key",
        soundS,
        1024 / 48_000,
      );
      await sound.add(packet, { decoderConfig: soundConfig });
      soundS += 1024 / 48_000;
    }
  };
  for (let frame = 0; frame < seconds * rate; frame++) {
    const isKey = frame % rate === 0;
    const body = new Uint8Array(frameBytes);
    new DataView(body.buffer).setUint32(0, frameBytes - 4);
    body[4] = isKey ? 0x65 : 0x41;
    await video.add(new EncodedPacket(body, isKey ? "key" : "delta", frame / rate, 1 / rate), { decoderConfig });
    await heardTo((frame + 1) / rate);
  }
  await heardTo(soundSeconds);
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
};
