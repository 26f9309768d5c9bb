// Definitions of the sandbox jobs: options, reply and bounds of each.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { type SchemaCheck, schemaCheck } from "../../domain/compiled-schema.ts";
import type { Depth } from "../formats/inspection.ts";

/** Bounds of one job. Wall time excludes the time that the child waits for bytes or for CPU. */
export type JobBounds = { cpuMs: number; wallMs: number };

type JobTerms = { options: TObject; reply: TObject; bounds: JobBounds };

const SHORT: JobBounds = { cpuMs: 3000, wallMs: 5000 };
/**
 * Converting a paid result is allowed more time than inspecting a link. A clip is copied once; a picture is decoded and
 * compressed.
 */
const LONG: JobBounds = { cpuMs: 15_000, wallMs: 20_000 };

/** 2^31 - 1: above any picture side, and a duration of 24 days. */
const positive = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const mime = Type.String({ pattern: "^[a-z]+/[a-z0-9.+-]{1,60}$" });
const closed = { additionalProperties: false } as const;

/** A new job needs an entry here and its implementation in job-runner.ts. */
export const JOBS = {
  /** Reports the format, size and duration of a file, and whether it is complete. */
  inspect: {
    options: Type.Object(
      { depth: Type.Union(["shallow", "whole", "counted"].map((depth) => Type.Literal(depth as Depth))) },
      closed,
    ),
    reply: Type.Object(
      {
        mime,
        kind: Type.Union(["image", "video", "audio", "other"].map((kind) => Type.Literal(kind as "image"))),
        width: Type.Optional(positive),
        height: Type.Optional(positive),
        ms: Type.Optional(positive),
        pictureMs: Type.Optional(positive),
        soundMs: Type.Optional(positive),
        hasAudio: Type.Optional(Type.Boolean()),
        isUncounted: Type.Optional(Type.Literal(true)),
        frameMs: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 60_000 })),
        isComplete: Type.Boolean(),
      },
      closed,
    ),
    bounds: SHORT,
  },
  /** Writes a WebP thumbnail of a picture to the output. */
  thumbnail: {
    options: Type.Object({ sidePx: positive, mostPixels: positive }, closed),
    reply: Type.Object({ mime }, closed),
    bounds: SHORT,
  },
  /** Writes the same picture as PNG, or the same clip as MP4, to the output. Files that would lose information are refused. */
  convert: {
    options: Type.Object(
      { to: Type.Union([Type.Literal("image/png"), Type.Literal("video/mp4")]), from: mime, mostPixels: positive },
      closed,
    ),
    reply: Type.Object({ mime }, closed),
    bounds: LONG,
  },
  /** Measures the file with third-party libraries, for simulated providers. */
  readAgain: {
    options: Type.Object({}, closed),
    reply: Type.Object(
      {
        width: Type.Optional(positive),
        height: Type.Optional(positive),
        ms: Type.Optional(positive),
        hasAudio: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
    bounds: SHORT,
  },
} satisfies Record<string, JobTerms>;

export type JobName = keyof typeof JOBS;

/** Validators for the reply of each job. */
export const REPLIES: Readonly<Record<JobName, SchemaCheck<TObject>>> = {
  inspect: schemaCheck(JOBS.inspect.reply),
  thumbnail: schemaCheck(JOBS.thumbnail.reply),
  convert: schemaCheck(JOBS.convert.reply),
  readAgain: schemaCheck(JOBS.readAgain.reply),
};
export type JobOptions<J extends JobName> = Static<(typeof JOBS)[J]["options"]>;
export type JobReply<J extends JobName> = Static<(typeof JOBS)[J]["reply"]>;

/** Header of a job frame; the first bytes of the file follow it. */
export type JobHead = { job: JobName; options: object; sizeBytes: number };
