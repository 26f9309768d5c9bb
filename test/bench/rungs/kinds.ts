// File kinds of the benches' provider: the word after `bench/` in an endpoint selects the kind.

export const KINDS = ["picture", "clip", "sound"] as const;
export type Kind = (typeof KINDS)[number];

/** `bench/clip…` delivers clips, `bench/sound…` sounds, any other endpoint pictures. */
export const kindOf = (endpoint: string): Kind =>
  endpoint.startsWith("bench/clip") ? "clip" : endpoint.startsWith("bench/sound") ? "sound" : "picture";

export const CLIP_SIZE = { width: 1366, height: 768 };
export const CLIP_MS = 6_000;
export const SOUND_MS = 30_000;
