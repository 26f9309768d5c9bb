// Small catalogues for one test: one model of tiny images with the routes that the test needs.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Catalogue, loadCatalogue } from "../../catalogue/load.ts";
import type { JsonObject, MediaKind } from "../../src/domain/types.ts";
import { dropScratch } from "../scratch.ts";

/** The model of every catalogue made here, and a valid input for it. */
export const MODEL = "life";
export const INPUT = { prompt: "a red kite over dunes" };

/** A route of a test. Its endpoint and its id are `life/<name>`. */
export type TestRoute = {
  name: string;
  usd: string;
  /** A lost job is found by our mark at fal, and by its input at replicate. */
  provider?: "fal" | "replicate";
  expectedS?: number;
  timeoutS?: number;
  confirmS?: number;
  maxRunning?: number;
  onRefusal?: "fail" | "next";
  onLost?: "next" | "hold" | "fail";
  /** fal only: the job has no mark, so it is looked up by its input. */
  unmarked?: true;
  /** Its last day, as 2026-12-03. */
  ends?: string;
};

/** The routes of most tests, cheapest first: 20, 25 and 30 credits. */
export const FAL: TestRoute = { name: "fal", usd: "0.20" };
export const REPLICATE: TestRoute = { name: "replicate", usd: "0.25", provider: "replicate" };
export const SPARE: TestRoute = { name: "spare", usd: "0.30" };

const routeOf = ({
  name,
  usd,
  provider = "fal",
  expectedS = 10,
  timeoutS = 600,
  confirmS,
  maxRunning,
  onRefusal,
  onLost,
  unmarked,
  ends,
}: TestRoute) => ({
  id: `${MODEL}/${name}`,
  provider,
  endpoint: `${MODEL}/${name}`,
  options: {
    constants: { image_size: { width: 64, height: 64 } },
    ...(provider === "fal" && !unmarked ? { marker: "end_user_id" } : {}),
  },
  expected_s: expectedS,
  timeout_s: timeoutS,
  ...(confirmS === undefined ? {} : { confirm_s: confirmS }),
  rates: [{ usd }],
  ...(maxRunning === undefined ? {} : { max_running: maxRunning }),
  ...(onRefusal ? { on_refusal: onRefusal } : {}),
  ...(onLost ? { on_lost: onLost } : {}),
  ...(ends ? { ends } : {}),
});

const TASKS: Record<MediaKind, string> = { image: "text-to-image", video: "text-to-video", audio: "text-to-speech" };

/** A catalogue with one model of these routes; each job makes `files` images, videos or sounds. */
export const catalogueOf = (routes: readonly TestRoute[], files = 1, kind: MediaKind = "image", allFiles?: true): Catalogue => {
  const model = {
    id: MODEL,
    name: "Life",
    maker: null,
    kind,
    tasks: [TASKS[kind]],
    input_kind: "common",
    files,
    ...(allFiles ? { delivers: { all_files: true } } : {}),
    fields: { prompt: { max_length: 30_000, required: true } },
    price: { unit: "generation" },
    routes: routes.map((route) => {
      const { options, ...rest } = routeOf(route);
      const count = route.provider === "replicate" ? { num_outputs: files } : { num_images: files };
      return { ...rest, options: { ...options, constants: { ...options.constants, ...count } } as JsonObject };
    }),
  };
  const dir = mkdtempSync(join(tmpdir(), "life-models-"));
  try {
    mkdirSync(join(dir, "models"));
    writeFileSync(join(dir, "models", `${MODEL}.json`), JSON.stringify(model));
    return loadCatalogue(dir);
  } finally {
    dropScratch(dir);
  }
};
