// The smallest valid input of a model, with sample media where the model requires them.
import type { FieldName } from "../catalogue/fields.ts";
import type { Model } from "../catalogue/schema.ts";
import type { JsonObject } from "../src/domain/types.ts";

/** @param samples Address of the simulator's sample media. */
export const leastInput = (model: Model, samples: string): JsonObject => {
  const links: Partial<Record<FieldName, string | string[]>> = {
    image_url: `${samples}/picture.png`,
    image_urls: [`${samples}/picture.png`],
    video_url: `${samples}/clip-6s.mp4`,
    audio_url: `${samples}/voice.mp3`,
  };
  const needed = Object.entries(model.fields).filter(([, field]) => field?.required);
  return {
    ...Object.fromEntries(needed.map(([name]) => [name, links[name as FieldName] ?? "a red kite over dunes"])),
  };
};
