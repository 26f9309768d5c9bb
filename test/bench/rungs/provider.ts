// Provider process that takes no time: fal's queue, Replicate's predictions, ready files, and a port that never responds.
import { deflateSync } from "node:zlib";
import { makeClip } from "../../../src/simulator/clip.ts";
import { pngChunk } from "../../../src/simulator/picture.ts";
import { makeMp3 } from "../../../src/simulator/sound.ts";
import { CLIP_MS, CLIP_SIZE, KINDS, type Kind, kindOf, SOUND_MS } from "./kinds.ts";

/** Counts of the submissions to one endpoint. `delivered`: jobs whose file was downloaded. */
export type Tally = { submitted: number; delivered: number };
export type Counts = {
  endpoints: Record<string, Tally>;
  files: Record<Kind, { bytes: number; sha256: string }>;
  /** Open sockets at the port that never responds. */
  hanging: number;
};

const NOISE_SIDE = 32;
const SIDE = 1024;
const QUALITY = 75;
const CLIP_PADDING = 256 * 1024;

/** Coarse noise, enlarged and smoothed: a JPEG of about 100 kB, like those of models. */
const drawPicture = async (): Promise<Uint8Array> => {
  const rowBytes = NOISE_SIDE * 3 + 1;
  const rows = new Uint8Array(rowBytes * NOISE_SIDE);
  let state = 1;
  for (let at = 0; at < rows.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    rows[at] = at % rowBytes === 0 ? 0 : state >>> 24;
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, NOISE_SIDE);
  view.setUint32(4, NOISE_SIDE);
  head.set([8, 2, 0, 0, 0], 8);
  const small = Buffer.concat([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10),
    pngChunk("IHDR", head),
    pngChunk("IDAT", deflateSync(rows)),
    pngChunk("IEND", new Uint8Array(0)),
  ]);
  return new Bun.Image(small).resize(SIDE, SIDE, { fit: "fill" }).jpeg({ quality: QUALITY }).bytes();
};

/** Padding after the parsed part, as large as one second of a model's clip. */
const padded = (clip: Uint8Array): Uint8Array => {
  const free = new Uint8Array(CLIP_PADDING);
  new DataView(free.buffer).setUint32(0, CLIP_PADDING);
  free.set(new TextEncoder().encode("free"), 4);
  return Buffer.concat([clip, free]);
};
const FILES: Record<Kind, { bytes: Uint8Array; mime: string; name: string }> = {
  picture: { bytes: await drawPicture(), mime: "image/jpeg", name: "picture.jpg" },
  clip: { bytes: padded(await makeClip(CLIP_SIZE, CLIP_MS, true, 1)), mime: "video/mp4", name: "clip.mp4" },
  sound: { bytes: makeMp3(SOUND_MS, 1), mime: "audio/mpeg", name: "sound.mp3" },
};
const reported = ({ bytes }: { bytes: Uint8Array }) => ({
  bytes: bytes.length,
  sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
});
const counts: Counts = {
  endpoints: {},
  files: Object.fromEntries(KINDS.map((kind) => [kind, reported(FILES[kind])])) as Counts["files"],
  hanging: 0,
};
const tallyOf = (endpoint: string): Tally => {
  counts.endpoints[endpoint] ??= { submitted: 0, delivered: 0 };
  return counts.endpoints[endpoint];
};
/** The poll at which a job is done; default: the first. */
const LOOKS = Number(process.argv[2] ?? 1);
const looks = new Map<string, number>();
/** Whether this poll finds the job done. */
const isDone = (id: string): boolean => {
  if (LOOKS <= 1) return true;
  const seen = (looks.get(id) ?? 0) + 1;
  if (seen < LOOKS) looks.set(id, seen);
  else looks.delete(id);
  return seen >= LOOKS;
};
/** Endpoints of jobs whose file was not downloaded yet. */
const owed = new Map<string, string>();

/** Ids are random, as those of both providers: an index of them is written everywhere. */
const accept = (endpoint: string): string => {
  const id = crypto.randomUUID().replaceAll("-", "");
  tallyOf(endpoint).submitted += 1;
  owed.set(id, endpoint);
  return id;
};
const fileUrl = (origin: string, kind: Kind, id: string): string => `${origin}/files/${id}/${FILES[kind].name}`;
const deliver = (path: string): Response => {
  const [id = "", name = ""] = path.split("/");
  const file = Object.values(FILES).find((one) => one.name === name);
  if (!file) return notFound();
  const endpoint = owed.get(id);
  if (endpoint !== undefined && owed.delete(id)) tallyOf(endpoint).delivered += 1;
  return new Response(file.bytes, { headers: { "content-type": file.mime } });
};
/** The one input that every model of both providers requires. */
const isInput = (input: unknown): boolean => typeof input === "object" && input !== null && "prompt" in input;
const notFound = () => Response.json({ detail: "Not found" }, { status: 404 });

const answerFal = async (request: Request, origin: string, path: string): Promise<Response> => {
  if (request.method === "POST") {
    if (!isInput(await request.json()))
      return Response.json({ detail: [{ type: "missing", loc: ["body", "prompt"] }] }, { status: 422 });
    const request_id = accept(path.slice(1));
    const job = `${origin}/fal${path}/requests/${request_id}`;
    return Response.json({
      ...{ status: "IN_QUEUE", request_id, queue_position: 0 },
      ...{ response_url: job, status_url: `${job}/status`, cancel_url: `${job}/cancel` },
    });
  }
  const [, id = "", end] = /\/requests\/(\w+)(\/status)?$/.exec(path) ?? [];
  if (id === "") return notFound();
  if (end !== undefined)
    return Response.json({
      status: isDone(id) ? "COMPLETED" : "IN_PROGRESS",
      request_id: id,
      response_url: `${origin}/fal${path.slice(0, -end.length)}`,
      metrics: {},
    });
  const kind = kindOf(path.slice(1));
  const { bytes, mime, name } = FILES[kind];
  const file = { url: fileUrl(origin, kind, id), content_type: mime, file_name: name, file_size: bytes.length };
  if (kind === "picture") return Response.json({ images: [{ ...file, width: SIDE, height: SIDE }], seed: 1 });
  return Response.json(kind === "clip" ? { video: file } : { audio: file });
};

const answerReplicate = async (request: Request, origin: string, path: string): Promise<Response> => {
  const at = new Date().toISOString();
  const shown = (id: string) => ({
    ...{ id, version: "hidden", error: null, logs: "", created_at: at, data_removed: false },
    urls: { get: `${origin}/replicate/v1/predictions/${id}`, cancel: `${origin}/replicate/v1/predictions/${id}/cancel` },
  });
  const model = /^\/models\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(path)?.[1];
  if (request.method === "POST" && model !== undefined) {
    if (!isInput(((await request.json()) as { input?: unknown }).input))
      return Response.json({ detail: "input.prompt" }, { status: 422 });
    return Response.json({ ...shown(accept(model)), model, status: "starting", output: null }, { status: 201 });
  }
  const id = /^\/predictions\/(\w+)$/.exec(path)?.[1];
  if (id === undefined) return notFound();
  return Response.json({ ...shown(id), status: "succeeded", output: fileUrl(origin, "picture", id), completed_at: at });
};

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: (request) => {
    const from = request.url.indexOf("/", "http://".length);
    const origin = request.url.slice(0, from);
    const [path = ""] = request.url.slice(from).split("?");
    if (path.startsWith("/fal/")) return answerFal(request, origin, path.slice("/fal".length));
    if (path.startsWith("/replicate/v1/")) return answerReplicate(request, origin, path.slice("/replicate/v1".length));
    if (path.startsWith("/files/")) return deliver(path.slice("/files/".length));
    return path === "/counts" ? Response.json(counts) : notFound();
  },
});

/** Accepts connections, reads, and never responds. */
const silent = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open: () => {
      counts.hanging += 1;
    },
    close: () => {
      counts.hanging -= 1;
    },
    data: () => {},
  },
});
process.stdout.write(`ready ${server.port} ${silent.port}\n`);
