// The settings of media: where it may come from, how much of it is read, and by how many processes.
import { Type } from "@sinclair/typebox";

export const MediaSettings = Type.Object(
  {
    allow: Type.String({
      default: "",
      description:
        "hosts (host or host:port, comma separated) that media may come from over http, any port and private addresses",
    }),
    workers: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 64,
      description: "processes at work at a time that look at media files, each bounded in memory and time",
    }),
    read_bytes: Type.Integer({
      default: 67_108_864,
      minimum: 65_536,
      maximum: 1_073_741_824,
      description:
        "most bytes that are read of a link before a request is accepted; the file itself may be larger where its server has ranges",
    }),
    pin_bytes: Type.Integer({
      default: 536_870_912,
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "largest file of a link whose length is billed, bytes: it is fetched whole before the first attempt",
    }),
    pin_s: Type.Integer({
      default: 120,
      minimum: 1,
      maximum: 3600,
      description: "longest time for fetching such a file, seconds",
    }),
    unpinned: Type.Union([Type.Literal("refuse"), Type.Literal("trust")], {
      default: "refuse",
      description:
        "trust: links whose length is billed are not fetched, and providers open them themselves; whoever serves them may then show the provider a longer clip than is paid for",
    }),
    convert_pixels: Type.Integer({
      default: 16_777_216,
      minimum: 1,
      maximum: 40_000_000,
      description:
        "most pixels of a result that is made into a PNG (GIF, BMP; AVIF up to a quarter of them); a larger one is delivered as it is",
    }),
  },
  { default: {}, additionalProperties: false },
);
