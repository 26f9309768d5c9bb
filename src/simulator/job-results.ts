// Results of jobs: generates, announces and serves their files.
//
// Faults of the script are applied.
import type { Sandbox } from "../media/sandbox/sandbox.ts";
import { type Fault, isFault, numberOf } from "./faults.ts";
import type { Answer, Reply, SimulatorRequest } from "./http-server.ts";
import { json, page, ranged, text } from "./http-server.ts";
import { createInputFiles, type InputBytes, type Received, type Sources } from "./input-files.ts";
import { endsAtMs, type Job, RESULT_RETENTION_MS, stateAt } from "./jobs.ts";
import type { MediaFactory } from "./media-factory.ts";
import { type DefaultsOf, type KindOf, type ParsedRequest, parseRequest } from "./parse-request.ts";
import { OTHER_KINDS, type OtherKind } from "./rare-formats.ts";
import { sendAs } from "./send-file.ts";
import { type FileFormat, MIME } from "./watermark.ts";
import { otherwise } from "./wrong-deliveries.ts";

/** An announced result file; sizes are missing if the announced URL is not on this server. */
export type Announced = { url: string; name: string; mime: string; bytes: number; width: number; height: number };

type JobResultsDeps = {
  kindOf: KindOf;
  mediaFactory: MediaFactory;
  sandbox: Pick<Sandbox, "run">;
  nowMs: () => number;
  unsaid?: DefaultsOf;
};
const EXTENSIONS: Readonly<Partial<Record<FileFormat, string>>> = { jpeg: "jpg", opus: "ogg" };
const extensionOf = (format: FileFormat): string => EXTENSIONS[format] ?? format;

/** `kindOf` determines the kind of an endpoint's results; `nowMs` determines whether a job is done. */
export const createJobResults = ({ kindOf, mediaFactory, sandbox, nowMs, unsaid = () => ({}) }: JobResultsDeps) => {
  const parsedRequests = new WeakMap<Job, Promise<ParsedRequest>>();
  const receipts = new WeakMap<Job, Promise<Received[]>>();

  const sources = new WeakMap<Job, Sources>();
  const sourcesOf = (job: Job): Sources => {
    const known = sources.get(job) ?? createInputFiles(job.input, sandbox);
    sources.set(job, known);
    return known;
  };

  /** The parsed request of a job; its links are read once, when the job is accepted. */
  const parsedRequestOf = (job: Job): Promise<ParsedRequest> => {
    const known = parsedRequests.get(job);
    if (known) return known;
    const parsed = parseRequest(job.endpoint, { ...unsaid(job.endpoint), ...job.input }, kindOf, sourcesOf(job));
    parsedRequests.set(job, parsed);
    return parsed;
  };

  /** The received clips and sounds of a job. */
  const receivedOf = (job: Job): Promise<Received[]> => {
    const known = receipts.get(job) ?? sourcesOf(job).received();
    receipts.set(job, known);
    return known;
  };

  /** The bytes of all files that a job's input names or contains. */
  const inputsOf = (job: Job): Promise<InputBytes[]> => sourcesOf(job).inputs();

  /** The parsed request of a job after all its input was measured, because a provider bills only then. */
  const measuredRequestOf = async (job: Job): Promise<ParsedRequest> => {
    await receivedOf(job);
    return parsedRequestOf(job);
  };

  /** File `n` (from 1) with its actual content. */
  const make = async (job: Job, n: number): Promise<{ bytes: Uint8Array; mime: string }> => {
    const parsed = await parsedRequestOf(job);
    const other = otherKind(job);
    if (other) return { bytes: await other.make(parsed.sketch, job.plan.seed + n - 1), mime: other.mime };
    const { sketch } = otherwise(parsed, job.faults.file);
    const bytes = await mediaFactory.make(sketch, job.plan.seed + n - 1, `${job.id}/${n}`);
    // The announced type stays that of the request.
    return { bytes, mime: MIME[parsed.sketch.format] };
  };

  /** The files of a finished job, in order. */
  const announce = async (job: Job, origin: string): Promise<Announced[]> => {
    const fault = job.faults.file;
    if (isFault(fault, "no-file")) return [];
    const parsed = await measuredRequestOf(job);
    const { sketch } = parsed;
    const { count } = otherwise(parsed, fault);
    const files: Announced[] = [];
    for (let n = 1; n <= count; n++) {
      const { bytes, mime } = await make(job, n);
      const extension = otherKind(job)?.extension ?? extensionOf(sketch.format);
      const name = `output-${n}.${extension}`;
      const url = isFault(fault, "elsewhere") ? addressOf(fault) : `${origin}/files/${job.id}/${name}`;
      files.push({ url, name, mime, bytes: bytes.length, width: sketch.width, height: sketch.height });
    }
    return files;
  };

  /** Serves the file at a path below `/files/`. */
  const deliver = async (request: SimulatorRequest, job: Job | undefined, n: number): Promise<Answer> => {
    if (!job || stateAt(job, nowMs()) !== "done") return text(404, "no such file\n");
    if (n < 1 || n > otherwise(await parsedRequestOf(job), job.faults.file).count) return text(404, "no such file\n");
    // Replicate deletes its files after an hour; fal keeps them.
    if (job.provider === "replicate" && nowMs() > endsAtMs(job) + RESULT_RETENTION_MS) return text(404, "no such file\n");
    const fault = job.faults.file;
    job.fetches += 1;
    if (isFault(fault, "missing")) return text(404, "no such file\n");
    if (isFault(fault, "expired")) {
      const body =
        '<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
      return text(numberOf(fault, "status"), body, "application/xml");
    }
    if (isFault(fault, "html")) return page(200, "Something went wrong");
    if (isFault(fault, "file-5xx") && job.fetches <= numberOf(fault, "fetches")) return page(503, "Service Unavailable");
    if (isFault(fault, "redirect")) return { ...text(302, ""), headers: { location: addressOf(fault) } };
    if (isFault(fault, "json")) return json(200, { detail: "Internal error: the asset is not ready", code: 500 });
    const { bytes, mime } = await make(job, n);
    const whole: Reply & { body: Uint8Array } = { kind: "reply", status: 200, headers: { "content-type": mime }, body: bytes };
    if (isFault(fault, "empty")) return { ...whole, body: "" };
    if (isFault(fault, "unreadable")) return ranged(request, { ...whole, body: noise(bytes.length, job.plan.seed) });
    if (isFault(fault, "truncated"))
      return sendAs(request, { ...whole, body: bytes.subarray(0, Math.floor(bytes.length * 0.6)) }, job.faults.transfer);
    if (isFault(fault, "file-cut") && job.fetches <= numberOf(fault, "fetches"))
      return { ...whole, cutAt: Math.floor(bytes.length / 2) };
    return sendAs(request, whole, job.faults.transfer);
  };

  /** The files of a job for dialects that put them into the response, with the faults of the script. */
  const hand = async (job: Job): Promise<{ bytes: Uint8Array; mime: string }[]> => {
    const fault = job.faults.file;
    if (isFault(fault, "no-file")) return [];
    const { count } = otherwise(await measuredRequestOf(job), fault);
    const files = await Promise.all(Array.from({ length: count }, (_, at) => make(job, at + 1)));
    return files.map(({ bytes, mime }) => {
      if (isFault(fault, "empty")) return { bytes: new Uint8Array(), mime };
      if (isFault(fault, "unreadable")) return { bytes: noise(bytes.length, job.plan.seed), mime };
      if (isFault(fault, "truncated")) return { bytes: bytes.subarray(0, Math.floor(bytes.length * 0.6)), mime };
      return { bytes, mime };
    });
  };

  return { parsedRequestOf, receivedOf, inputsOf, announce, deliver, hand };
};
export type JobResults = ReturnType<typeof createJobResults>;

/** The other kind of file that the script selects for a job. */
const otherKind = ({ faults: { kind } }: Job) =>
  kind && Object.hasOwn(OTHER_KINDS, kind.name) ? OTHER_KINDS[kind.name as OtherKind] : undefined;

const addressOf = (fault: Fault): string => (typeof fault.url === "string" ? fault.url : "");

/** Bytes without any file format; the same seed gives the same bytes. */
const noise = (length: number, seed: number): Uint8Array => {
  const out = new Uint8Array(length);
  let state = (seed | 1) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    out[i] = 128 | (state >>> 24);
  }
  return out;
};
