// Combines the durations of tracks into that of the clip.
import { Unreadable } from "../byte-source.ts";
import type { Inspection } from "./inspection.ts";

/** A picture track: its duration by the displayed samples, and the mean duration of one. */
export type Seen = { seconds: number; frameS: number; width: number; height: number };
/** A sound track: its duration by the played samples, and the duration of one encoded frame. */
export type SoundTrack = { seconds: number; frameS: number };

/** Encoded sound consists of whole frames (1,024 or 1,152 samples), so it ends up to this much after the pictures. */
const PADDING_S = 0.1;

const longest = <T extends SoundTrack>(tracks: readonly T[]): T | undefined =>
  tracks.reduce<T | undefined>((most, each) => (most && most.seconds >= each.seconds ? most : each), undefined);

/**
 * The duration of a clip is that of its pictures, unless its sound is longer than the padding of its last frame. Of several
 * tracks of a kind the longest counts, because the track that a provider uses is unknown. The size is that of the first picture
 * track.
 * @throws Unreadable
 */
export const clipOf = (pictures: readonly Seen[], sounds: readonly SoundTrack[]): Omit<Inspection, "mime" | "isComplete"> => {
  const picture = longest(pictures.filter(({ seconds }) => seconds > 0));
  const sound = longest(sounds.filter(({ seconds }) => seconds > 0));
  const longer = picture && sound && sound.seconds <= picture.seconds + PADDING_S ? picture : (sound ?? picture);
  if (!longer) throw new Unreadable("it holds neither pictures nor sound");
  const ms = Math.round(longer.seconds * 1000);
  if (!(Number.isSafeInteger(ms) && ms > 0)) throw new Unreadable("its length cannot be measured");
  const found = { ms, hasAudio: sound !== undefined, frameMs: longer.frameS * 1000 };
  if (!picture) return { kind: "audio", ...found };
  const pictureMs = Math.max(1, Math.round(picture.seconds * 1000));
  const { width, height } = pictures.find(({ seconds }) => seconds > 0) ?? picture;
  if (width < 1 || height < 1) throw new Unreadable("its header does not say the size of the picture");
  const clip = { kind: "video", ...found, ...(pictureMs < ms ? { pictureMs } : {}), width, height } as const;
  const isSoundShorter = sound !== undefined && sound.seconds < picture.seconds - PADDING_S;
  return isSoundShorter ? { ...clip, soundMs: Math.max(1, Math.round(sound.seconds * 1000)) } : clip;
};
