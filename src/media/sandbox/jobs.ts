// What a child can be asked to do with a file: for each job what it is told, what it may answer, and its bounds.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import type { Depth } from "../formats/inspection.ts";

/** What one job may use. Wall time counts only what the child itself takes: neither waiting for bytes nor for a processor. */
export type JobBounds = { cpuMs: number; wallMs: number };

type JobTerms = { options: TObject; reply: TObject; bounds: JobBounds };

const SHORT: JobBounds = { cpuMs: 3000, wallMs: 5000 };
/** What has been paid for is worth more time than a stranger's link; a clip is copied once, a picture decoded and packed. */
const LONG: JobBounds = { cpuMs: 15_000, wallMs: 20_000 };

/** 2^31 - 1: no side of a picture, and a length of 24 days. */
const positive = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const mime = Type.String({ pattern: "^[a-z]+/[a-z0-9.+-]{1,60}$" });
const closed = { additionalProperties: false } as const;

/** A new job is a line here and its work in work.ts. */
export const JOBS = {
  /** What a file is, how large, how long, and whether it is all there. */
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
  /** A small picture of a large one, as WebP, written to the output. */
  thumbnail: {
    options: Type.Object({ sidePx: positive, mostPixels: positive }, closed),
    reply: Type.Object({ mime }, closed),
    bounds: SHORT,
  },
  /** The same picture as PNG, or the same clip in an MP4, written to the output; a file that would lose by it is refused. */
  convert: {
    options: Type.Object(
      { to: Type.Union([Type.Literal("image/png"), Type.Literal("video/mp4")]), from: mime, mostPixels: positive },
      closed,
    ),
    reply: Type.Object({ mime }, closed),
    bounds: LONG,
  },
  /** What another program makes of the file: for simulated providers. */
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

/** Whether an answer is one that its job may give. */
export const REPLIES: Readonly<Record<JobName, TypeCheck<TObject>>> = {
  inspect: TypeCompiler.Compile(JOBS.inspect.reply),
  thumbnail: TypeCompiler.Compile(JOBS.thumbnail.reply),
  convert: TypeCompiler.Compile(JOBS.convert.reply),
  readAgain: TypeCompiler.Compile(JOBS.readAgain.reply),
};
export type JobOptions<J extends JobName> = Static<(typeof JOBS)[J]["options"]>;
export type JobReply<J extends JobName> = Static<(typeof JOBS)[J]["reply"]>;

/** The head of a job's frame; the first bytes of the file follow it. */
export type JobHead = { job: JobName; options: object; sizeBytes: number };
