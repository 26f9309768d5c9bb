// Classifies an MP4 track by its handler and the name of its description.
import type { Box } from "./mp4-boxes.ts";

/** `othr`: neither declared as pictures or sound nor known as unplayed; some decoders play it. */
export type TrackKind = "vide" | "soun" | "othr";

/** Text, time codes, hints and camera telemetry, which decoders do not play. */
const NOT_PLAYED = new Set([
  ...[
    "text",
    "tx3g",
    "wvtt",
    "stpp",
    "sbtt",
    "stxt",
    "c608",
    "c708",
    "dfxp",
    "mp4s",
    "subp",
    "tmcd",
    "mett",
    "metx",
    "mebx",
    "urim",
  ],
  ...["gpmd", "camm", "rtmd", "fdsc", "djmd", "dbgi", "CTMD", "rtp ", "srtp", "rrtp", "rm2t", "sm2t", "tmpl", "enct", "encm"],
]);
/** Decoders detect sound by the code of its description, regardless of the handler. */
const SOUND = new Set([
  ...[
    "mp4a",
    "ac-3",
    "sac3",
    "ec-3",
    "ac-4",
    "mlpa",
    "dtsc",
    "dtsh",
    "dtsl",
    "dtse",
    "dts-",
    "Opus",
    "fLaC",
    "FLAC",
    "alac",
    "agsm",
  ],
  ...[
    "samr",
    "sawb",
    "sawp",
    "ima4",
    "QDMC",
    "QDM2",
    "Qclp",
    "Qcelp",
    "sqcp",
    "SPXN",
    "vdva",
    "dvca",
    "DIVA",
    "WMA2",
    "MAC3",
    "MAC6",
  ],
  ...["sowt", "twos", "lpcm", "in24", "in32", "fl32", "fl64", "raw ", "NONE", "ulaw", "alaw", "ipcm", "fpcm", "nmos", "iavs"],
  ...[".mp1", ".mp2", ".mp3", "mp3 ", "mp2a", "enca"],
]);
const isSoundName = (name: string) => SOUND.has(name) || name.startsWith("ms\0");

/** The kind of a track by its handler and first description; undefined if decoders do not play it. */
export const kindOf = (handler: string, { name }: Box): TrackKind | undefined => {
  if (handler === "vide" || handler === "soun") return handler;
  // A picture sequence in a picture file.
  if (handler === "pict" && !isSoundName(name)) return "vide";
  if (NOT_PLAYED.has(name)) return undefined;
  return isSoundName(name) ? "soun" : "othr";
};
