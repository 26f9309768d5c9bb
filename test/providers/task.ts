// Builds tasks (attempt and input) and responses for the provider tests, with overridable defaults.

import type { Attempt, JsonObject } from "../../src/domain/types.ts";
import { readJson } from "../../src/providers/http-call.ts";
import type { ProviderResponse, Work } from "../../src/providers/port.ts";

export const SENT_AT_MS = Date.parse("2026-11-21T10:00:00.000Z");

/** Route options of the vidmodel-2.0 family on fal, as in the catalogue. */
export const FAL_OPTIONS: JsonObject = {
  endpoints: [
    { when: ["image_urls"], path: "reference-to-video" },
    { when: ["image_url"], path: "image-to-video" },
    { when: [], path: "text-to-video" },
  ],
  fields: {
    duration: { to: "duration", as: "string" },
    aspect_ratio: { to: "aspect_ratio", map: { adaptive: "auto" } },
    audio: "generate_audio",
    video_url: { to: "video_urls", as: "list" },
    seed: null,
  },
  marker: "end_user_id",
};
/** The same for Replicate. */
export const REPLICATE_OPTIONS: JsonObject = {
  fields: { image_url: "image", end_image_url: "last_frame_image", image_urls: "reference_images", audio: "generate_audio" },
};

export const INPUT: JsonObject = { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false };

type Wish = Partial<Omit<Attempt, "route">> & {
  provider?: string;
  options?: JsonObject;
  input?: JsonObject;
  endpoint?: string;
};

export const taskFor = ({
  provider = "fal",
  options,
  input = INPUT,
  endpoint = "bytedance/seedance-2.0",
  ...attempt
}: Wish = {}): Work => ({
  attempt: {
    seq: 1,
    n: 1,
    ref: "0k3v9x2m-1",
    requestId: "req_1",
    route: {
      routeId: `vidmodel-2.0:${provider}`,
      provider,
      endpoint,
      options: options ?? (provider === "fal" ? FAL_OPTIONS : REPLICATE_OPTIONS),
      kind: "video",
    },
    priceCredits: 75,
    state: "sending",
    request: null,
    sentAtMs: SENT_AT_MS,
    endsAtMs: SENT_AT_MS + 600_000,
    job: null,
    results: null,
    failure: null,
    watchUntilMs: null,
    endedAtMs: null,
    ...attempt,
  },
  input: { raw: input, filled: input },
});

/** A complete response, as an adapter receives it. */
export const answer = (status: number, body: unknown, headers: Record<string, string> = {}): ProviderResponse => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, headers, text, json: readJson(text) };
};
