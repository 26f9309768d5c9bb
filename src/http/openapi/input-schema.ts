// Schemas of the two inputs of §2.6 and §2.7 for the OpenAPI document.
//
// Models narrow these schemas by the options in the model list.
import { type TProperties, Type } from "@sinclair/typebox";
import { BOUNDS } from "../../../catalogue/fields.ts";

const link = (description: string) => Type.String({ format: "uri", maxLength: BOUNDS.linkLength, description });
const links = (maxItems: number, description: string) =>
  Type.Array(Type.String({ format: "uri", maxLength: BOUNDS.linkLength }), { minItems: 1, maxItems, description });
const word = (description: string) => Type.String({ description });
const prompt = Type.String({ minLength: 1, maxLength: BOUNDS.promptLength, description: "Counted in Unicode code points." });
const seconds = (bounds: { min: number; max: number }, description: string) =>
  Type.Integer({ minimum: bounds.min, maximum: bounds.max, description });
const choice = (values: readonly string[], byDefault: string, description: string) =>
  Type.Unsafe<string>({ type: "string", enum: values, default: byDefault, description });

const optional = <T extends TProperties>(properties: T) => Type.Partial(Type.Object(properties)).properties;

/** §2.6: `vidmodel-2.5` only. */
export const ExtendedInput = Type.Object(
  {
    prompt,
    ...optional({
      resolution: choice(["480p", "720p", "1080p"], "720p", "Resolution of the result."),
      duration: seconds(BOUNDS.durationS.extended, "Seconds, 5 by default. Cannot be combined with `video_url`."),
      aspect_ratio: choice(["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"], "16:9", "Aspect ratio of the result."),
      audio: Type.Boolean({ default: false, description: "Generate audio." }),
      image_url: link("Exact first frame. Cannot be combined with reference media."),
      end_image_url: link("Last frame. Requires `image_url`."),
      image_urls: links(BOUNDS.imageItems, "Reference images."),
      video_url: link("A 4 to 30 s clip to edit."),
      video_urls: links(
        BOUNDS.clipItems,
        "Reference clips, at most 30 s in total. Their seconds are billed at the video-input rate.",
      ),
      audio_urls: links(BOUNDS.clipItems, "Reference audio, at most 30 s in total."),
    }),
  },
  {
    additionalProperties: false,
    description: "Input of `vidmodel-2.5`. Media URLs are public https URLs that download directly.",
  },
);

/** §2.7: every other model. */
export const CommonInput = Type.Object(
  optional({
    prompt,
    negative_prompt: Type.String({ maxLength: BOUNDS.negativePromptLength, description: "On models that support it." }),
    image_url: link("Start frame, or image to edit."),
    end_image_url: link("Last frame, on models with first and last frame. Requires `image_url`."),
    image_urls: links(BOUNDS.imageItems, "Reference images. The options of the model state the maximum number."),
    video_url: link("A clip to transform, extend or upscale. Its measured length may be billed."),
    audio_url: link("Audio for a talking-avatar or lip-sync model."),
    resolution: word("One of the model's resolutions."),
    aspect_ratio: word("One of the model's aspect ratios."),
    duration: seconds(BOUNDS.durationS.common, "Seconds; one of the model's durations."),
    audio: Type.Boolean({ description: "Generate audio, on models that support it." }),
    quality: word("Quality tier, on models that are priced by quality."),
    seed: Type.Integer({ minimum: BOUNDS.seed.min, maximum: BOUNDS.seed.max, description: "On models that support a seed." }),
  }),
  {
    additionalProperties: false,
    description:
      "Input of every other model. `prompt` is required unless the model only transforms media. Each model supports a subset of the fields.",
  },
);
