// Catalogue with one model for each kind of order: clip, edit, lip sync, image, image set, music, speech.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Catalogue, loadCatalogue } from "../../catalogue/load.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { dropScratch } from "../scratch.ts";

type Sold = { tasks: string[]; kind: string; fields: JsonObject; price: JsonObject; files?: number; delivers?: JsonObject };

const prompt = { max_length: 2000 };
const needed = { ...prompt, required: true };
const aspect = { values: ["16:9", "9:16", "1:1", "4:3", "adaptive"], default: "16:9" };
const classes = { values: ["480p", "720p", "1080p"], default: "720p" };

const SOLD: Readonly<Record<string, Sold>> = {
  clip: {
    ...{ kind: "video", tasks: ["text-to-video", "image-to-video"], price: { unit: "second" } },
    fields: {
      prompt: needed,
      image_url: { max_items: 1 },
      resolution: classes,
      aspect_ratio: aspect,
      duration: { min: 1, max: 30, default: 5 },
      audio: { values: [false, true], default: false },
    },
  },
  edit: {
    ...{ kind: "video", tasks: ["video-to-video"], price: { unit: "second", clips: { video_url: "is_output" } } },
    fields: { prompt, video_url: { max_items: 1, required: true } },
  },
  lips: {
    ...{ kind: "video", tasks: ["lip-sync"], price: { unit: "second", clips: { audio_url: "is_output" } } },
    fields: { prompt, image_url: { max_items: 1, required: true }, audio_url: { max_items: 1, required: true } },
  },
  picture: {
    ...{ kind: "image", tasks: ["text-to-image"], price: { unit: "image" } },
    fields: {
      prompt: needed,
      resolution: { values: ["1K", "2K"], default: "1K" },
      aspect_ratio: { values: ["1:1", "16:9", "9:16"], default: "1:1" },
      output_format: { values: ["png", "jpeg", "webp"] },
    },
    delivers: { size: [{ when: { resolution: "2K" }, pixels: 3_600_000 }, { pixels: 900_000 }] },
  },
  pair: {
    ...{ kind: "image", tasks: ["text-to-image"], price: { unit: "generation" }, files: 2 },
    fields: { prompt: needed },
  },
  set: {
    ...{ kind: "image", tasks: ["text-to-image"], price: { unit: "image" }, files: 3 },
    fields: { prompt: needed },
    delivers: { all_files: true },
  },
  music: {
    ...{ kind: "audio", tasks: ["text-to-music"], price: { unit: "second" } },
    fields: { prompt: needed, duration: { min: 1, max: 60, default: 10 } },
  },
  speech: {
    ...{ kind: "audio", tasks: ["text-to-speech"], price: { unit: "1k_characters" } },
    fields: { prompt: needed },
  },
};
export type Model = "clip" | "edit" | "lips" | "picture" | "pair" | "set" | "music" | "speech";

/** Copies of each model, each with its own routes: the circuit breaker opens on a route after five wrong results in a row. */
export const COPIES = 8;
export const copyOf = (model: string, copy: number): string => `${model}-${copy % COPIES}`;

/** Two routes for each model, the cheaper one first. Images without a size option are small, so that they are made quickly. */
const routeOf = (model: string, { kind, files = 1, fields }: Sold, provider: "fal" | "replicate", usd: string) => ({
  id: `${model}/${provider}`,
  provider,
  endpoint: `${kind}/${model}`,
  options: {
    ...(provider === "fal" ? { marker: "end_user_id" } : {}),
    constants: {
      ...(files > 1 ? { [provider === "fal" ? "num_images" : "num_outputs"]: files } : {}),
      ...(kind === "image" && !("resolution" in fields) ? { image_size: { width: 64, height: 64 } } : {}),
    },
  },
  ...{ expected_s: 10, timeout_s: 2400, rates: [{ usd }] },
});

export const deliveriesCatalogue = (): Catalogue => {
  const dir = mkdtempSync(join(tmpdir(), "deliveries-models-"));
  try {
    mkdirSync(join(dir, "models"));
    const copies = Object.entries(SOLD).flatMap(([id, sold]) =>
      Array.from({ length: COPIES }, (_, copy) => [copyOf(id, copy), sold] as const),
    );
    for (const [id, sold] of copies) {
      const routes = [routeOf(id, sold, "fal", "0.20"), routeOf(id, sold, "replicate", "0.25")];
      const model = { ...{ id, name: id, maker: null, input_kind: "common" }, ...sold, routes };
      writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify(model));
    }
    return loadCatalogue(dir, ["fal", "replicate"]);
  } finally {
    dropScratch(dir);
  }
};
