// TypeBox schemas of the public API: submissions and all responses.
import { type TSchema, Type } from "@sinclair/typebox";
import { API_ERRORS } from "../domain/api-errors.ts";
import { GENERATION_ERROR_CODES, GENERATION_STATUSES, MEDIA_KINDS } from "../domain/types.ts";

const oneOf = (values: readonly string[], description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  );
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const dateTime = (description: string) => Type.String({ format: "date-time", description });
const dollars = (description: string) => Type.Number({ minimum: 0, description });

/** The envelope of §2.5. The content of `input` is validated against the model, not here. */
export const GenerationRequest = Type.Object(
  {
    model: Type.String({ description: "A model id from the model list." }),
    input: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "Input of the model. The `options` of its entry in the model list contain the fields, their values and defaults.",
      },
    ),
    max_cost_usd: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 100,
        default: 100,
        description: "Routes with a higher price are skipped. The amount is rounded down to 2 decimals.",
      }),
    ),
    max_wait_s: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description:
          "Routes with a longer expected duration are skipped. After it expires, no new route is tried. A running route may finish (up to 40 minutes) and is charged if it delivers.",
      }),
    ),
  },
  { additionalProperties: false, description: "A generation request. Unknown fields are rejected." },
);

/** §2.2. */
export const GenerationOutput = Type.Object(
  {
    urls: Type.Array(Type.String({ format: "uri" }), {
      minItems: 1,
      description: "Absolute links to all result files, in order. They expire within an hour; each poll returns new links.",
    }),
    width: Type.Optional(Type.Integer({ minimum: 1, description: "Images and videos only, in pixels." })),
    height: Type.Optional(Type.Integer({ minimum: 1, description: "Images and videos only, in pixels." })),
    duration_s: Type.Optional(Type.Number({ minimum: 0, description: "Videos only, in seconds." })),
    has_audio: Type.Optional(Type.Boolean({ description: "Videos only." })),
  },
  { additionalProperties: false },
);

/** `error` of a failed generation. */
export const GenerationErrorObject = Type.Object(
  { code: oneOf(GENERATION_ERROR_CODES, "Cause of the failure."), message: Type.String() },
  { additionalProperties: false },
);

/** §2.1. */
export const Generation = Type.Object(
  {
    id: Type.String({ pattern: "^gen_[A-Za-z0-9_-]{1,76}$" }),
    object: Type.Literal("generation"),
    model: Type.String(),
    status: oneOf(GENERATION_STATUSES, "`succeeded` and `failed` never change again."),
    message: Type.Optional(Type.String({ description: "Present only while a result is being confirmed with a provider." })),
    output: orNull(GenerationOutput),
    quoted_usd: dollars("Price on the route tried first. Never changes."),
    reserved_usd: orNull(dollars("Credits held while the generation runs; null after its settlement.")),
    cost_usd: orNull(dollars("The charge after success, 0 after a failure, otherwise null.")),
    attempts: Type.Integer({ minimum: 0, description: "Number of routes tried, including fallbacks." }),
    error: orNull(GenerationErrorObject),
    created_at: dateTime("UTC."),
    completed_at: orNull(dateTime("UTC; null until finished.")),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "The `Genrouter-Metadata` of the request; absent without that header.",
      }),
    ),
    end_user: Type.Optional(Type.String({ description: "The `Genrouter-End-User` of the request; absent without that header." })),
  },
  { additionalProperties: false },
);

/** The response to a cancel request (§14). */
export const CancelledGeneration = Type.Object(
  {
    ...Generation.properties,
    cancel_requested_at: Type.Optional(dateTime("Since when the cancellation is pending. Absent once the generation has ended.")),
  },
  { additionalProperties: false },
);

/** An uploaded file (docs/interface.md). */
export const UploadedFileObject = Type.Object(
  {
    id: Type.String({ pattern: "^file_[0-9a-z]{1,76}$", description: "Any media field of `input` takes it." }),
    object: Type.Literal("file"),
    kind: oneOf(MEDIA_KINDS, "Kind of the media, by its bytes."),
    content_type: Type.String({ description: "By the bytes, whatever the request stated." }),
    bytes: Type.Integer({ minimum: 1 }),
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    width: orNull(Type.Integer({ minimum: 1, description: "Pictures and clips, in pixels." })),
    height: orNull(Type.Integer({ minimum: 1, description: "Pictures and clips, in pixels." })),
    duration_s: orNull(Type.Number({ minimum: 0, description: "Clips and sound; null if it cannot be measured." })),
    url: Type.String({
      format: "uri",
      description:
        "Link to the file, which needs no key and expires within an hour. In `input`, the owner can use it after it has expired.",
    }),
    created_at: dateTime("UTC."),
    expires_at: dateTime("UTC. Each generation that takes the file prolongs it."),
  },
  { additionalProperties: false },
);
export const FileList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(UploadedFileObject),
  has_more: Type.Boolean(),
  next: orNull(Type.String({ description: "`after` of the next page." })),
});
export const DeletedFile = Type.Object({ id: Type.String(), object: Type.Literal("file"), deleted: Type.Literal(true) });

/** §2.3. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: oneOf(Object.keys(API_ERRORS), "For programs. Each operation lists the codes with their statuses."),
    message: Type.String({ description: "Readable text with the field and the allowed values." }),
  }),
});

const usdPerUnit = Type.Array(
  Type.Object({
    when: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "Input values to which the rate applies." })),
    usd: Type.Number({ minimum: 0 }),
  }),
);

/** §2.4. */
export const ModelEntryObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("model"),
  name: Type.Optional(Type.String()),
  maker: Type.Optional(orNull(Type.String())),
  kind: Type.Optional(oneOf(["image", "video", "audio"], "Kind of the result.")),
  tasks: Type.Optional(Type.Array(Type.String())),
  options: Type.Optional(
    Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      description:
        "One member per input field: `values` and `default`, or `min`, `max` and `default`, or `max_length`, `max_items`, `required`.",
    }),
  ),
  price: Type.Optional(
    Type.Object({
      currency: Type.Literal("usd"),
      unit: oneOf(["second", "image", "generation", "1k_characters"], "Unit of a rate."),
      rates: usdPerUnit,
      video_input_rates: Type.Optional(usdPerUnit),
      image_input_rates: Type.Optional(usdPerUnit),
    }),
  ),
});
/** §4.5. */
export const ModelList = Type.Object({ object: Type.Literal("list"), data: Type.Array(ModelEntryObject) });
