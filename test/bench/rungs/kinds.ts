// What the provider of the benches delivers: an endpoint says by the word behind `bench/` what kind of file it makes.

export const KINDS = ["picture", "clip", "sound"] as const;
export type Kind = (typeof KINDS)[number];

/** `bench/clip…` makes clips, `bench/sound…` sounds, whatever else pictures. */
export const kindOf = (endpoint: string): Kind =>
  endpoint.startsWith("bench/clip") ? "clip" : endpoint.startsWith("bench/sound") ? "sound" : "picture";

export const CLIP_SIZE = { width: 1366, height: 768 };
export const CLIP_MS = 6_000;
export const SOUND_MS = 30_000;
