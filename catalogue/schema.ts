// The schema of a model file: input fields, prices and routes. `catalogue.schema.json` is generated from it.
import { Type } from "@sinclair/typebox";
import type { JsonObject } from "../src/domain/types.ts";
import { type Delivers, DeliversSchema } from "./delivery-rules.ts";
import {
  BOUNDS,
  CLIP_FIELDS,
  type ClipField,
  FIELD_NAMES,
  type FieldName,
  INPUT_KINDS,
  type InputKind,
  PRICED_FIELDS,
  type PricedField,
} from "./fields.ts";
import {
  choiceValue,
  closed,
  count,
  type Field,
  FieldsSchema,
  fieldName,
  oneOf,
  type Scalar,
  scalar,
  seconds,
} from "./schema-types.ts";

export const MODEL_KINDS = ["image", "video", "audio"] as const;
export const TASKS = [
  "text-to-image",
  "image-to-image",
  "text-to-video",
  "image-to-video",
  "first-last-frame",
  "reference-to-video",
  "video-to-video",
  "upscale",
  "text-to-speech",
  "text-to-music",
  "text-to-sound",
  "lip-sync",
] as const;
export const PRICE_UNITS = ["second", "image", "generation", "1k_characters"] as const;
/** The maximum time of an attempt on a route, seconds. */
const routeSeconds = (description: string) =>
  Type.Integer({ minimum: 1, maximum: BOUNDS.routeS, description: `a whole number from 1 to ${BOUNDS.routeS}: ${description}` });

/** The limits of one route within its model: the members of the field, with narrower values. */
const Limits = Type.Object(
  {
    values: Type.Optional(Type.Array(choiceValue, { minItems: 1, uniqueItems: true })),
    min: Type.Optional(Type.Number()),
    max: Type.Optional(Type.Number()),
    max_length: Type.Optional(count(1, BOUNDS.promptLength)),
    max_items: Type.Optional(count(1, BOUNDS.imageItems)),
    min_s: Type.Optional(seconds),
    max_s: Type.Optional(seconds),
    max_total_s: Type.Optional(seconds),
  },
  closed,
);

const amount = Type.String({
  pattern: "^(0|[1-9][0-9]{0,4})(\\.[0-9]{1,6})?$",
  description: 'a decimal string in USD such as "0.15", at most six decimals',
});
const Rate = Type.Object(
  {
    when: Type.Optional(
      Type.Object(Object.fromEntries(PRICED_FIELDS.map((name) => [name, Type.Optional(scalar)])), {
        ...closed,
        description: `values of ${PRICED_FIELDS.join(", ")} that the row is for; absent: every request`,
      }),
    ),
    usd: amount,
  },
  closed,
);

/** A provider's own value, in any format. */
const theirs = Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Boolean()]);

/** A part of an endpoint, such as the id of a voice. */
const PathPart = Type.String({ pattern: "^[A-Za-z0-9._-]{1,100}$", description: "letters, digits, dot, hyphen, underscore" });

/** The input format of a provider, read by the adapters in `src/providers`. */
const RouteOptions = Type.Object(
  {
    endpoints: Type.Optional(
      Type.Array(
        Type.Object(
          {
            when: Type.Array(fieldName, { uniqueItems: true }),
            path: Type.String({ pattern: "^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$" }),
            constants: Type.Optional(
              Type.Record(Type.String(), Type.Unknown(), { description: "sent with these requests alone" }),
            ),
          },
          closed,
        ),
        { minItems: 1, description: "the first entry whose fields are all present adds its path to the endpoint" },
      ),
    ),
    path: Type.Optional(
      Type.Object(
        {
          field: fieldName,
          map: Type.Record(Type.String(), PathPart, { minProperties: 1 }),
          else: PathPart,
        },
        {
          ...closed,
          description: "adds a part to the endpoint by the value of a field; else: where the request lacks the field",
        },
      ),
    ),
    fields: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Union(
          [
            Type.String({ minLength: 1 }),
            Type.Null(),
            Type.Object(
              {
                to: Type.String({ minLength: 1 }),
                as: Type.Optional(oneOf(["string", "integer", "list"])),
                map: Type.Optional(Type.Record(Type.String(), theirs)),
              },
              closed,
            ),
          ],
          { description: "the provider's name for the field, { to, as, map }, or null: not sent; `a.b` is member b of object a" },
        ),
      ),
    ),
    defaults: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "sent where no field of the request sets the member" }),
    ),
    constants: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "sent with every request" })),
    marker: Type.Optional(Type.String({ minLength: 1, description: "input field that carries our reference of the attempt" })),
    values: Type.Optional(
      Type.Record(Type.String({ pattern: "^[a-z][a-z0-9_]*$" }), Type.Unknown(), {
        description: "what the provider's dialect asks of the route, as {route.NAME}",
      }),
    ),
  },
  closed,
);

const RouteSchema = Type.Object(
  {
    id: Type.String({
      pattern: "^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$",
      description: '"<model id>/<name>", never changed and never used again',
    }),
    provider: Type.String({ pattern: "^[a-z][a-z0-9_-]*$", description: "a provider id such as fal or replicate" }),
    endpoint: Type.String({ pattern: "^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", description: "a path such as owner/name" }),
    options: Type.Optional(RouteOptions),
    expected_s: routeSeconds("how long a delivery usually takes"),
    timeout_s: routeSeconds("the longest time of one attempt"),
    confirm_s: Type.Optional(
      routeSeconds(
        "time in seconds to confirm a submission whose response was lost while the provider gives no information, before the next route; 120 by default, at most timeout_s",
      ),
    ),
    /** Attempts of the route that run at the same time; `limits.max_running_per_route` by default. */
    max_running: Type.Optional(count(1, 100_000)),
    on_refusal: Type.Optional(oneOf(["fail", "next"])),
    on_lost: Type.Optional(oneOf(["next", "hold", "fail"])),
    takes: Type.Optional(
      Type.Object(Object.fromEntries(FIELD_NAMES.map((name) => [name, Type.Optional(Type.Union([Limits, Type.Null()]))])), {
        ...closed,
        description: "what the route can do less than the model: narrower limits, or null for a field that it lacks",
      }),
    ),
    rates: Type.Array(Rate, { minItems: 1, description: "USD per unit of the model's price; the first row that fits counts" }),
    video_input_rates: Type.Optional(Type.Array(Rate, { minItems: 1, description: "USD per second where clips come in" })),
    image_input_rates: Type.Optional(
      Type.Array(Rate, { minItems: 1, description: "USD for each picture that comes in, beside the rates; absent: nothing" }),
    ),
    cost: Type.Optional(
      Type.Array(Rate, {
        minItems: 1,
        description: "what the provider charges, USD per unit of the model's price; for the operator",
      }),
    ),
    image_input_cost: Type.Optional(
      Type.Array(Rate, {
        minItems: 1,
        description: "what the provider charges for each picture that comes in; for the operator",
      }),
    ),
    ends: Type.Optional(
      Type.String({
        pattern: "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        description: "the last day on which its provider runs it, as 2026-12-03 (UTC); it is in no plan after that day",
      }),
    ),
    source: Type.Optional(
      Type.Object(
        {
          price: Type.String({ minLength: 1, description: "where the provider's price was read, and how it was converted" }),
          input: Type.Optional(Type.String({ minLength: 1, description: "where its input was read" })),
          as_of: Type.String({ pattern: "^20[0-9]{2}-[0-9]{2}-[0-9]{2}$", description: "the day of reading" }),
        },
        closed,
      ),
    ),
    not_verified: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  },
  closed,
);

const CLIP_BILLINGS = ["joins_output", "beside_output", "is_output"] as const;
/**
 * How the measured seconds of a clip are billed. `joins_output`: clip and output seconds, all at the video-input rate.
 * `beside_output`: output at its rate, clip at the video-input rate. `is_output`: the output is as long as the clip.
 */
export type ClipBilling = (typeof CLIP_BILLINGS)[number];

export const ModelSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    id: Type.String({
      pattern: "^[a-z0-9][a-z0-9._-]{0,79}$",
      description: "lower case letters, digits, dot, hyphen, underscore",
    }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    maker: Type.Union([Type.String({ minLength: 1 }), Type.Null()], { description: "a name or null" }),
    kind: oneOf(MODEL_KINDS),
    tasks: Type.Array(oneOf(TASKS), { minItems: 1, uniqueItems: true }),
    input_kind: oneOf(INPUT_KINDS),
    files: Type.Optional(count(1, BOUNDS.files)),
    simulated: Type.Optional(Type.Boolean({ description: "true for a model that only the simulator runs; false when absent" })),
    fields: FieldsSchema,
    delivers: Type.Optional(DeliversSchema),
    price: Type.Object(
      {
        unit: oneOf(PRICE_UNITS),
        clips: Type.Optional(
          Type.Object(Object.fromEntries(CLIP_FIELDS.map((name) => [name, Type.Optional(oneOf(CLIP_BILLINGS))])), closed),
        ),
      },
      closed,
    ),
    routes: Type.Array(RouteSchema, { minItems: 1, description: "at least one route" }),
  },
  { ...closed, title: "genrouter model file", description: "One model of the catalogue: what it takes, costs and runs on." },
);

/** The schema as published for editors: the text of `catalogue/catalogue.schema.json`. */
export const printedSchema = (): string =>
  `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...ModelSchema }, null, 2)}\n`;

/** The limits of one route within its model, by the members of the field. */
export type RouteLimits = {
  values?: Scalar[];
  min?: number;
  max?: number;
  max_length?: number;
  max_items?: number;
  min_s?: number;
  max_s?: number;
  max_total_s?: number;
};
/** USD per unit for requests whose fields hold the values in `when`; an empty `when` matches every request. */
export type Rate = { when: { [field in PricedField]?: Scalar }; usd: string };
/** The target of a field in a provider's input: its name there, its format, and the values that are renamed. */
export type FieldTarget = string | null | { to: string; as?: "string" | "integer" | "list"; map?: { [value: string]: Scalar } };
export type RouteOptions = {
  endpoints?: { when: FieldName[]; path: string; constants?: JsonObject }[];
  path?: { field: FieldName; map: { [value: string]: string }; else: string };
  fields?: { [field: string]: FieldTarget };
  defaults?: JsonObject;
  constants?: JsonObject;
  marker?: string;
  values?: JsonObject;
};
/** The sources of a route's price and input fields, with the date of reading. */
export type RouteSource = { price: string; input?: string; as_of: string };
export type Route = {
  id: string;
  provider: string;
  endpoint: string;
  options: RouteOptions;
  expected_s: number;
  timeout_s: number;
  confirm_s?: number;
  max_running?: number;
  on_refusal: "fail" | "next";
  on_lost: "next" | "hold" | "fail";
  takes: { [field in FieldName]?: RouteLimits | null };
  rates: Rate[];
  video_input_rates: Rate[];
  /** Rates for each input image; empty where input images are free. */
  image_input_rates: Rate[];
  /** The provider's rates; empty where they are unknown. */
  cost: Rate[];
  image_input_cost: Rate[];
  /** The last day on which the provider offers the route. */
  ends?: string;
  source?: RouteSource;
  not_verified?: string[];
};
/** A model of a loaded catalogue: validated, with all optional members filled in and `excludes` stated on both sides. */
export type Model = {
  id: string;
  name: string;
  maker: string | null;
  kind: (typeof MODEL_KINDS)[number];
  tasks: (typeof TASKS)[number][];
  input_kind: InputKind;
  /** The number of files of a result; a price per image counts each file. */
  files: number;
  /** Only the simulator offers the model. */
  simulated: boolean;
  fields: { [field in FieldName]?: Field };
  /** The model's delivery rules, where they differ from the rules for all models. */
  delivers: Delivers;
  price: { unit: (typeof PRICE_UNITS)[number]; clips: { [field in ClipField]?: ClipBilling } };
  routes: Route[];
};
