// Generates tones as MP3, WAV and the AAC track of a clip.

/**
 * One MP3 frame per tone: MPEG-1 layer III, 48 kHz mono, 32 kbit/s, no bit reservoir, 96 bytes after zero padding. Each contains
 * a whole number of waves in its 1152 samples, so repetition gives a steady tone of any length.
 */
const MP3_FRAMES = [
  "//sUxAADwOQLCABewCAcgWEAC9gEhHioBlPP9EI8VAMp5/oTEFNRTMuMTAw",
  "//sUxAADwWQdCAuDJIAsg6EBcGSQ8I8UQMGSlGiuf/R4R4ogYMlKNFc/+hMQU1FMy4xMDA=",
].map((text) => new Uint8Array(Buffer.from(text, "base64")));
const MP3_FRAME_BYTES = 96;
const MP3_FRAME_MS = 24;

/** One AAC-LC frame per tone, 48 kHz mono, with 1024 samples of whole waves. */
const AAC_FRAMES = [
  "AOQsLSj3f9f/4n/4/46ZqiRcmpUGYuYc/fIsVQAhUmJldDaoMTV/V2d3ji0VatDKuhISEhISEhISEhISEhISEhISEhISVCQkJCQkJCSt27du3bt27w==",
  "AOQsLUzRC4/j3//5df/l/j4uZSJclxgTMO4v4LuuV3VoUySN7r+s03NNNd44tTLq7ZhI3Z2dnZ2dnZ2dnZ2dnZ2dnZ2dnZ2dnZ2dnZ2dnZ2dnZ9evWc=",
  "APgtkNZkXoyCiXzefP/9uv//16pJLkjrk8gGBgYGZtRMLuuViqAc4lAktgeQDmmmnSm+LKtEhISEhISEhISEhISVCQkJCQkJCQkJKhISVu/Tneeee4A=",
].map((text) => new Uint8Array(Buffer.from(text, "base64")));

/** The decoder configuration of the AAC frames: AAC-LC, 48 kHz, one channel. */
export const AAC = {
  codec: "mp4a.40.2",
  numberOfChannels: 1,
  sampleRate: 48_000,
  description: Uint8Array.of(0x11, 0x88),
} as const;
export const AAC_FRAME_S = 1024 / 48_000;

/** The AAC frame of a seed's tone. */
export const aacFrame = (seed: number): Uint8Array => AAC_FRAMES[seed % AAC_FRAMES.length] ?? new Uint8Array(0);

/** MP3 frames last 24 ms; the length is the nearest whole number of them, at least one. */
export const makeMp3 = (ms: number, seed: number): Uint8Array => {
  const frame = MP3_FRAMES[seed % MP3_FRAMES.length] ?? new Uint8Array(0);
  const frames = Math.max(1, Math.round(ms / MP3_FRAME_MS));
  const out = new Uint8Array(frames * MP3_FRAME_BYTES);
  for (let n = 0; n < frames; n++) out.set(frame, n * MP3_FRAME_BYTES);
  return out;
};

const WAV_RATE = 16_000;

/** WAV, 16 bit mono at 16 kHz, exact to a sixteenth of a millisecond: quiet notes that change four times a second. */
export const makeWav = (ms: number, seed: number): Uint8Array => {
  const samples = Math.max(1, Math.round((ms * WAV_RATE) / 1000));
  const out = new Uint8Array(44 + samples * 2);
  const view = new DataView(out.buffer);
  const text = (at: number, word: string) => out.set(new TextEncoder().encode(word), at);
  text(0, "RIFF");
  view.setUint32(4, 36 + samples * 2, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, WAV_RATE, true);
  view.setUint32(28, WAV_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, samples * 2, true);
  const noteSamples = WAV_RATE / 4;
  // Each note is computed once and copied for each repetition, so ten minutes take a few milliseconds.
  const notes = [0, 4, 7, 12, 9, 5].map((step) => {
    const hz = 200 * 2 ** ((step + (seed % 12)) / 12);
    return Int16Array.from({ length: noteSamples }, (_, i) => {
      const fade = Math.min(1, i / 400, (noteSamples - i) / 1600);
      return Math.round(5000 * fade * Math.sin((2 * Math.PI * hz * i) / WAV_RATE));
    });
  });
  const wave = new Int16Array(out.buffer, 44, samples);
  for (let at = 0, n = seed; at < samples; at += noteSamples, n++) {
    const note = notes[(n * 5 + (n >> 2)) % notes.length] ?? new Int16Array(0);
    wave.set(note.subarray(0, Math.min(noteSamples, samples - at)), at);
  }
  return out;
};
