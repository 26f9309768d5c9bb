// Sample media for requests: clips, images and voices, generated on demand.
import type { Answer, SimulatorRequest } from "./http-server.ts";
import { ranged, text } from "./http-server.ts";
import type { MediaFactory } from "./media-factory.ts";
import { type FileFormat, MIME } from "./watermark.ts";

const FORMATS: Readonly<Record<string, FileFormat>> = {
  mp4: "mp4",
  png: "png",
  jpg: "jpeg",
  jpeg: "jpeg",
  webp: "webp",
  mp3: "mp3",
  wav: "wav",
};
const HELP =
  "clip.mp4?seconds&width&height&audio, picture.png|jpg|webp?width&height, voice.mp3|wav?seconds; clip-6s.mp4 for short\n";

/** `GET /samples/NAME`: the extension of the name is the format; `-6s` in it, or `seconds`, is the length (5 s by default). */
export const answerSample = async (mediaFactory: MediaFactory, request: SimulatorRequest, name: string): Promise<Answer> => {
  const [, what = "", shortS, extension = ""] = /^(clip|picture|voice)(?:-(\d+(?:\.\d+)?)s)?\.([a-z0-9]+)$/.exec(name) ?? [];
  const format = FORMATS[extension];
  const kind = { clip: "video", picture: "image", voice: "audio" }[what];
  if (format === undefined || kind === undefined || !MIME[format].startsWith(kind))
    return text(404, `no such sample; there are ${HELP}`);
  const number = (param: string, byDefault: number, most: number) => {
    const declared = request.query.get(param);
    const n = declared === null ? byDefault : Number(declared);
    return n > 0 && n <= most ? n : undefined;
  };
  const even = (n: number) => Math.max(2, Math.round(n / 2) * 2);
  const seconds = number("seconds", Number(shortS ?? 5), 600);
  const width = number("width", 1280, 8192);
  const height = number("height", 720, 8192);
  if (!seconds || !width || !height) return text(422, "seconds is at most 600; width and height are at most 8192\n");
  const size =
    what === "picture" ? { width: Math.round(width), height: Math.round(height) } : { width: even(width), height: even(height) };
  const sound = what === "voice" || !["0", "false"].includes(request.query.get("audio") ?? "0");
  const seed = Number(request.query.get("seed") ?? 3) || 0;
  const bytes = await mediaFactory.make({ format, ...size, ms: Math.round(seconds * 1000), sound }, seed, `sample ${name}`);
  return ranged(request, { kind: "reply", status: 200, headers: { "content-type": MIME[format] }, body: bytes });
};
