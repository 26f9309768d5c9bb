// Results of simulated providers: images and clips as ordered, or with one mismatch.
import type { Model } from "../../../catalogue/schema.ts";
import type { MediaKind, Output } from "../../domain/types.ts";
import type { Rng } from "./rng.ts";

type Sold = Pick<Model, "kind" | "tasks" | "fields" | "delivers">;
const prompt = { max_length: 1000, required: true };
const video_url = { max_items: 1 };
/** The products of models: images of a given size, or clips of a length and resolution with sound. */
export const SOLD: readonly Sold[] = [
  { kind: "image", tasks: ["text-to-image"], fields: { prompt, video_url }, delivers: { size: [{ pixels: 900_000 }] } },
  {
    ...{ kind: "video", tasks: ["text-to-video"], delivers: {} },
    fields: {
      prompt,
      video_url,
      resolution: { values: ["720p"], default: "720p" },
      duration: { values: [5], default: 5 },
      audio: { values: [true], default: true },
    },
  },
];

/** The kinds of mismatch; each is a mismatch for every product of its kind. */
const WRONGS = { image: ["small", "kind"], video: ["short", "small", "silent", "kind"], audio: ["kind"] } as const;
export type Wrong = (typeof WRONGS)[MediaKind][number];
export const drawWrong = (dice: Rng, kind: MediaKind): Wrong => dice.pick<Wrong>(WRONGS[kind]);

const OTHER_KIND = { image: "video/mp4", video: "image/png", audio: "image/png" } as const;
const RIGHT_KIND = { image: "image/png", video: "video/mp4", audio: "audio/mpeg" } as const;

/** The measured result. */
export const delivered = (kind: MediaKind, wrong: Wrong | null, sha256: string): Output => {
  const mime = wrong === "kind" ? OTHER_KIND[kind] : RIGHT_KIND[kind];
  const output: Output = { kind, files: [{ n: 1, sha256, bytes: 1000, mime }] };
  if (kind === "image")
    return { ...output, ...(wrong === "small" ? { width: 512, height: 512 } : { width: 1024, height: 1024 }) };
  if (wrong === "kind") return { ...output, width: 1280, height: 720 };
  const size = wrong === "small" ? { width: 640, height: 360 } : { width: 1280, height: 720 };
  return { ...output, ...size, durationMs: wrong === "short" ? 4_000 : 5_041, hasAudio: wrong !== "silent" };
};
