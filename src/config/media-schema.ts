// Schema of the media settings: allowed sources, size limits and number of processes.
import { Type } from "@sinclair/typebox";

export const MediaSettings = Type.Object(
  {
    allow: Type.String({
      default: "",
      description:
        "hosts (host or host:port, comma separated) from which media is fetched over http, on any port and at private addresses",
    }),
    workers: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 64,
      description: "number of sandbox processes that parse media files concurrently, each bounded in memory and time",
    }),
    read_bytes: Type.Integer({
      default: 67_108_864,
      minimum: 65_536,
      maximum: 1_073_741_824,
      description:
        "maximum bytes that are read from a linked file before a request is accepted; the file can be larger if its server supports range requests",
    }),
    pin_bytes: Type.Integer({
      default: 536_870_912,
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "maximum size in bytes of a linked file whose length is billed; the service fetches it completely before the first attempt",
    }),
    pin_s: Type.Integer({
      default: 120,
      minimum: 1,
      maximum: 3600,
      description: "maximum time in seconds to fetch such a file",
    }),
    unpinned: Type.Union([Type.Literal("refuse"), Type.Literal("trust")], {
      default: "refuse",
      description:
        "trust: do not fetch linked files whose length is billed; providers open the link, and its server can then deliver a longer clip to the provider than the customer pays for",
    }),
    convert_pixels: Type.Integer({
      default: 16_777_216,
      minimum: 1,
      maximum: 40_000_000,
      description:
        "maximum pixels of a result that is converted to PNG (GIF and BMP; AVIF up to a quarter of it); a larger result is delivered unchanged",
    }),
  },
  { default: {}, additionalProperties: false },
);
