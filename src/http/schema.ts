// TypeBox schemas of the public API: submissions and all responses.
import { type TSchema, Type } from "@sinclair/typebox";
import { API_ERRORS } from "../domain/api-errors.ts";
import {
  GENERATION_ERROR_CODES,
  GENERATION_STATUSES,
  KEY_WINDOWS,
  MEDIA_KINDS,
  SKIP_REASONS,
  TRANSFER_KINDS,
} from "../domain/types.ts";

export const oneOf = (values: readonly string[], description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  );
export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const dateTime = (description: string) => Type.String({ format: "date-time", description });
/** A count or a size that can exceed 32 bits. */
const int64 = (minimum: number, description?: string) =>
  Type.Integer({ format: "int64", minimum, ...(description === undefined ? {} : { description }) });
/** Not a literal, because generators make a text of a constant boolean. */
const ALWAYS_TRUE = Type.Boolean({ description: "Always true." });
export const dollars = (description: string) => Type.Number({ minimum: 0, description });

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
        description: "100 if absent. Routes with a higher price are skipped. The amount is rounded down to 2 decimals.",
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

/** The response to the deletion of a generation. */
export const DeletedGeneration = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("generation"),
    deleted: ALWAYS_TRUE,
    erased_at: dateTime("When prompt, input, metadata and end user were erased."),
    backups: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          taken_at: dateTime("When the backup was taken."),
          expires_on: orNull(
            Type.String({
              format: "date",
              description:
                "The day (UTC) on which the service deletes it, if each nightly backup succeeds. Null: the operator deletes it.",
            }),
          ),
        },
        { additionalProperties: false },
      ),
      { description: "Backups of this service that may still contain what was erased, oldest first." },
    ),
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
    bytes: int64(1),
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
/** A resumable upload. */
export const ResumableUploadObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("upload"),
    offset: int64(0, "Bytes that are stored."),
    length: int64(1, "Size of the whole file in bytes."),
    file: Type.Optional(Type.String({ description: "The id of the file that it has become." })),
    error: Type.Optional(
      Type.Object({ code: Type.String(), message: Type.String() }, { description: "The error that ended the upload." }),
    ),
  },
  { additionalProperties: false },
);
export const DeletedFile = Type.Object({ id: Type.String(), object: Type.Literal("file"), deleted: ALWAYS_TRUE });

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

/** A page of generations, newest first. */
export const GenerationList = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(CancelledGeneration),
    has_more: Type.Boolean({ description: "Another page may follow." }),
    next: orNull(Type.String({ description: "The `after` of the next page; null at the end." })),
  },
  { additionalProperties: false },
);

/** A quote: prices and plan of a request that is not submitted. */
export const QuoteObject = Type.Object(
  {
    object: Type.Literal("quote"),
    quoted_usd: dollars("Price on the route that is tried first."),
    reserved_usd: dollars("Credits that a submission would hold."),
    routes: Type.Integer({ minimum: 1, description: "Number of planned routes." }),
    expected_s: Type.Integer({ minimum: 0, description: "Expected duration on the route that is tried first, in seconds." }),
    skipped: Type.Array(
      Type.Object(
        {
          reason: oneOf(SKIP_REASONS, "Why the routes are not planned."),
          routes: Type.Integer({ minimum: 1, description: "Number of routes." }),
        },
        { additionalProperties: false },
      ),
      { description: "Routes of the model that are not planned, counted by reason." },
    ),
  },
  { additionalProperties: false },
);

/** The balance of the account, and the limits of the key. */
export const BalanceObject = Type.Object(
  {
    object: Type.Literal("balance"),
    balance_usd: dollars("Available and held credits."),
    held_usd: dollars("Credits held for generations in progress."),
    available_usd: dollars("Credits that new generations can hold."),
    owed_usd: dollars("Open debt. While it is above 0, submissions are rejected."),
    limits: Type.Array(
      Type.Object(
        {
          window: oneOf(KEY_WINDOWS, "UTC day, week from Monday, or month."),
          limit_usd: dollars("The limit."),
          spent_usd: dollars("Spent or held in the window, also by keys that this key replaces."),
          left_usd: dollars("What the key may still spend in the window."),
          resets_at: dateTime("End of the window, UTC."),
        },
        { additionalProperties: false },
      ),
      { description: "Limits of the key of the request; empty without limits." },
    ),
  },
  { additionalProperties: false },
);

const usageCounts = {
  generations: Type.Integer({ minimum: 0, description: "Generations that ended." }),
  succeeded: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
  charged_usd: dollars("Sum of the charges."),
};
const medianWait = orNull(
  Type.Number({ minimum: 0, description: "Median time from submission to success, seconds. Not given by end user." }),
);
/** Usage of the account. */
export const UsageObject = Type.Object(
  {
    object: Type.Literal("usage"),
    from: Type.String({ format: "date", description: "First day, UTC." }),
    to: Type.String({ format: "date", description: "Last day, UTC." }),
    group_by: oneOf(["day", "model", "key", "end_user"], "The grouping of `data`."),
    total: Type.Object(
      { ...usageCounts, median_wait_s: medianWait },
      { additionalProperties: false, description: "All generations of the account in the range, whatever the grouping." },
    ),
    data: Type.Array(
      Type.Object(
        {
          day: Type.Optional(Type.String({ format: "date" })),
          model: Type.Optional(Type.String()),
          key: Type.Optional(Type.String({ description: "The id of a key." })),
          name: Type.Optional(Type.String({ description: "The name of the key." })),
          end_user: Type.Optional(Type.String({ description: "The id of an end user." })),
          ...usageCounts,
          median_wait_s: Type.Optional(medianWait),
        },
        { additionalProperties: false },
      ),
      {
        description:
          "One item for each day of the range, or for each model or key with usage, by charge. By end user one page, newest end user first.",
      },
    ),
    has_more: Type.Optional(Type.Boolean({ description: "By end user only: another page may follow." })),
    next: Type.Optional(orNull(Type.String({ description: "By end user only: the `after` of the next page; null at the end." }))),
  },
  { additionalProperties: false },
);

/** A transfer of the account's ledger. */
export const LedgerEntry = Type.Object(
  {
    number: int64(1, "Numbers the transfers of the account without a gap."),
    kind: oneOf(TRANSFER_KINDS, "A hold and its release move credits within the balance."),
    amount_usd: dollars("Amount of the transfer."),
    change_usd: Type.Number({ description: "Change of the balance." }),
    balance_usd: dollars("Balance after it."),
    available_usd: dollars("Available credits after it."),
    held_usd: dollars("Held credits after it."),
    generation: orNull(Type.String({ description: "The id of the generation." })),
    purchase: orNull(Type.String({ description: "The id of the purchase." })),
    note: orNull(Type.String()),
    created_at: dateTime("UTC."),
  },
  { additionalProperties: false },
);
/** A page of the ledger, newest first. */
export const LedgerList = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(LedgerEntry),
    has_more: Type.Boolean({ description: "Another page may follow." }),
    next: orNull(Type.String({ description: "The `after` of the next page; null at the end." })),
  },
  { additionalProperties: false },
);
