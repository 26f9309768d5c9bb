// A model's own delivery rules: the tolerance and the minimum size of its results, where they differ from the rules for all
// models.
import { Type } from "@sinclair/typebox";
import { isChoice, isRange } from "./capabilities.ts";
import { FIELD_NAMES, PRICED_FIELDS, type PricedField } from "./fields.ts";
import type { Model } from "./schema.ts";
import { closed, count, type Scalar, scalar } from "./schema-types.ts";

/** How much shorter than ordered a result may be: the larger of the two values. */
export const SHORT = { s: 0.3, percent: 4 } as const;
/** A video needs one of these shares: of its resolution's pixels, or of its shorter side. */
export const SHARE = { pixels: 0.8, side: 0.95 } as const;
/** The permitted deviation of a result from the requested aspect ratio, percent. */
export const ASPECT_PERCENT = 10;

const BOUNDS = { shortS: 5, shortPercent: 25, aspectPercent: 100, side: 16_384 } as const;

const within = (minimum: number, maximum: number, description: string) =>
  Type.Number({ minimum, maximum, description: `a number from ${minimum} to ${maximum}: ${description}` });
const off = Type.Literal(false, { description: "false: it is not compared" });

export const DeliversSchema = Type.Object(
  {
    all_files: Type.Optional(
      Type.Boolean({
        description: "true: a delivery with fewer files than promised is not charged; otherwise it is delivered and logged",
      }),
    ),
    length: Type.Optional(
      Type.Union(
        [
          off,
          Type.Object(
            {
              short_s: Type.Optional(within(0, BOUNDS.shortS, "seconds that it may be shorter than ordered")),
              short_percent: Type.Optional(within(0, BOUNDS.shortPercent, "percent that it may be shorter than ordered")),
            },
            closed,
          ),
        ],
        { description: "{ short_s, short_percent }, of which the larger counts, or false" },
      ),
    ),
    resolution: Type.Optional(
      Type.Union(
        [
          off,
          Type.Object(
            {
              pixels: Type.Optional(within(0.1, 1, "the share of its resolution's pixels that is enough")),
              side: Type.Optional(within(0.1, 1, "the share of its resolution's shorter side that is enough")),
            },
            closed,
          ),
        ],
        { description: "of videos: { pixels, side }, of which one is enough, or false" },
      ),
    ),
    size: Type.Optional(
      Type.Array(
        Type.Object(
          {
            when: Type.Optional(
              Type.Object(Object.fromEntries(PRICED_FIELDS.map((name) => [name, Type.Optional(scalar)])), {
                ...closed,
                description: `values of ${PRICED_FIELDS.join(", ")} that the row is for; absent: every request`,
              }),
            ),
            pixels: Type.Optional(count(1, BOUNDS.side ** 2)),
            side: Type.Optional(count(1, BOUNDS.side)),
          },
          closed,
        ),
        { minItems: 1, description: "pixels in all and on the shorter side that a result has at least; the first row that fits" },
      ),
    ),
    aspect: Type.Optional(
      Type.Union(
        [
          off,
          Type.Object({ percent: within(0, BOUNDS.aspectPercent, "how far off the shape asked for a result may be") }, closed),
        ],
        { description: "{ percent } or false" },
      ),
    ),
    sound: Type.Optional(off),
  },
  { ...closed, description: "what is held against an order before it is charged, where it is not as for all models" },
);

/** The minimum size of results of requests whose fields hold the values in `when`. */
export type OwnSize = { when?: { [field in PricedField]?: Scalar }; pixels?: number; side?: number };
export type Delivers = {
  all_files?: boolean;
  length?: false | { short_s?: number; short_percent?: number };
  resolution?: false | { pixels?: number; side?: number };
  size?: OwnSize[];
  aspect?: false | { percent: number };
  sound?: false;
};

/** The shortest duration that can be ordered, seconds; undefined where only clips set the duration. */
const shortestS = ({ fields: { duration } }: Model): number | undefined => {
  if (duration === undefined) return undefined;
  if (isRange(duration)) return duration.min;
  return isChoice(duration) ? Math.min(...duration.values.map(Number)) : undefined;
};

const lengthFaults = (model: Model, length: NonNullable<Delivers["length"]> | false): [string, string][] => {
  const at = "/delivers/length";
  if (length === false)
    return model.price.unit === "second" ? [[at, "is billed by the second: it may be wider, never switched off"]] : [];
  const shortest = shortestS(model) ?? 1;
  return model.price.unit === "second" && (length.short_s ?? 0) > Math.max(SHORT.s, shortest / 4)
    ? [[`${at}/short_s`, `at most a quarter of the shortest that can be ordered, ${shortest} s, where seconds are billed`]]
    : [];
};

const sizeFaults = (model: Model, rows: readonly OwnSize[]): [string, string][] =>
  rows.flatMap((row, at): [string, string][] => {
    const faults: [string, string][] = [];
    const path = `/delivers/size/${at}`;
    if (row.pixels === undefined && row.side === undefined) faults.push([path, "needs pixels or side"]);
    for (const [name, value] of Object.entries(row.when ?? {})) {
      const field = model.fields[FIELD_NAMES.find((known) => known === name) ?? "prompt"];
      if (name in model.fields && field && isChoice(field) && field.values.includes(value)) continue;
      if (name in model.fields && field && isRange(field) && Number(value) >= field.min && Number(value) <= field.max) continue;
      faults.push([`${path}/when/${name}`, `${String(value)} cannot be asked for`]);
    }
    return faults;
  });

/**
 * Faults of a model's delivery rules: a rule for something that its results do not have, or a check disabled for something that
 * is billed.
 */
export const deliversFaults = (model: Model): [path: string, message: string][] => {
  const { all_files, length, resolution, size, aspect, sound } = model.delivers;
  const faults: [string, string][] = [];
  if (all_files !== undefined && model.files < 2) faults.push(["/delivers/all_files", "a result of the model is one file"]);
  if (length !== undefined && model.kind === "image") faults.push(["/delivers/length", "pictures have none"]);
  else if (length !== undefined) faults.push(...lengthFaults(model, length));
  if (resolution !== undefined && (model.kind !== "video" || !model.fields.resolution))
    faults.push(["/delivers/resolution", "is for videos whose resolution can be asked for; see size"]);
  if (size && model.kind === "audio") faults.push(["/delivers/size", "sound has none"]);
  else if (size) faults.push(...sizeFaults(model, size));
  if (aspect !== undefined && !model.fields.aspect_ratio)
    faults.push(["/delivers/aspect", "the model does not take aspect_ratio"]);
  if (sound !== undefined && !model.fields.audio) faults.push(["/delivers/sound", "the model does not take audio"]);
  return faults;
};
