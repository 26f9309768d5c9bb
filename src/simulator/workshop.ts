// What jobs deliver: their files as asked for, announced under addresses of this server, and spoiled where the script says so.
import type { Answer, Ask, Reply } from "./door.ts";
import { page, ranged, text } from "./door.ts";
import { type Fault, isFault, numberOf } from "./faults.ts";
import { endsAtMs, type Job, RESULT_KEPT_MS, stateAt } from "./jobs.ts";
import { MIME } from "./stamp.ts";
import type { Studio } from "./studio.ts";
import { type KindOf, readWish, type Wish } from "./wish.ts";

/** A result file as a dialect announces it; sizes are missing where the announced address is not this server's. */
export type Announced = { url: string; name: string; mime: string; bytes: number; width: number; height: number };

const OTHER_KIND = { image: "mp4", video: "png", audio: "png" } as const;

/** `kindOf` decides what an endpoint makes; `nowMs` whether it is ready. */
export const openWorkshop = (kindOf: KindOf, studio: Studio, nowMs: () => number) => {
  const wishes = new WeakMap<Job, Promise<Wish>>();

  /** What the job was asked for; its links are looked at once, when it is accepted. */
  const wishOf = (job: Job): Promise<Wish> => {
    const known = wishes.get(job);
    if (known) return known;
    const wish = readWish(job.endpoint, job.input, kindOf);
    wishes.set(job, wish);
    return wish;
  };

  /** File `n` (from 1) as it really is. */
  const make = async (job: Job, n: number): Promise<{ bytes: Uint8Array; mime: string }> => {
    const { kind, sketch } = await wishOf(job);
    const fault = job.faults.file;
    const wrong = isFault(fault, "wrong-kind") ? { format: OTHER_KIND[kind], width: 640, height: 360, ms: 2000 } : {};
    const bytes = await studio.make({ ...sketch, ...wrong }, job.plan.seed + n - 1, `${job.id}/${n}`);
    return { bytes, mime: MIME[sketch.format] };
  };

  /** The files of a finished job, in order. */
  const announce = async (job: Job, origin: string): Promise<Announced[]> => {
    const fault = job.faults.file;
    if (isFault(fault, "no-file")) return [];
    const { count, sketch } = await wishOf(job);
    const files: Announced[] = [];
    for (let n = 1; n <= count; n++) {
      const { bytes, mime } = await make(job, n);
      const name = `output-${n}.${sketch.format === "jpeg" ? "jpg" : sketch.format}`;
      const url = isFault(fault, "elsewhere") ? addressOf(fault) : `${origin}/files/${job.id}/${name}`;
      files.push({ url, name, mime, bytes: bytes.length, width: sketch.width, height: sketch.height });
    }
    return files;
  };

  /** The file at a path below `/files/`. */
  const deliver = async (ask: Ask, job: Job | undefined, n: number): Promise<Answer> => {
    if (!job || stateAt(job, nowMs()) !== "done") return text(404, "no such file\n");
    if (n < 1 || n > (await wishOf(job)).count) return text(404, "no such file\n");
    // Replicate takes its files away after an hour; fal keeps them.
    if (job.provider === "replicate" && nowMs() > endsAtMs(job) + RESULT_KEPT_MS) return text(404, "no such file\n");
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
    const { bytes, mime } = await make(job, n);
    const whole: Reply = { kind: "reply", status: 200, headers: { "content-type": mime }, body: bytes };
    if (isFault(fault, "empty")) return { ...whole, body: "" };
    if (isFault(fault, "unreadable")) return ranged(ask, { ...whole, body: noise(bytes.length, job.plan.seed) });
    if (isFault(fault, "truncated")) return ranged(ask, { ...whole, body: bytes.subarray(0, Math.floor(bytes.length * 0.6)) });
    if (isFault(fault, "file-cut") && job.fetches <= numberOf(fault, "fetches"))
      return { ...whole, cutAt: Math.floor(bytes.length / 2) };
    return ranged(ask, whole);
  };

  /** The files of a job as they are, spoiled where the script says so: for dialects that put them into the answer. */
  const hand = async (job: Job): Promise<{ bytes: Uint8Array; mime: string }[]> => {
    const fault = job.faults.file;
    if (isFault(fault, "no-file")) return [];
    const { count } = await wishOf(job);
    const files = await Promise.all(Array.from({ length: count }, (_, at) => make(job, at + 1)));
    return files.map(({ bytes, mime }) => {
      if (isFault(fault, "empty")) return { bytes: new Uint8Array(), mime };
      if (isFault(fault, "unreadable")) return { bytes: noise(bytes.length, job.plan.seed), mime };
      if (isFault(fault, "truncated")) return { bytes: bytes.subarray(0, Math.floor(bytes.length * 0.6)), mime };
      return { bytes, mime };
    });
  };

  return { wishOf, announce, deliver, hand };
};
export type Workshop = ReturnType<typeof openWorkshop>;

const addressOf = (fault: Fault): string => (typeof fault.url === "string" ? fault.url : "");

/** Bytes that are no file of any kind, the same for the same seed. */
const noise = (length: number, seed: number): Uint8Array => {
  const out = new Uint8Array(length);
  let state = (seed | 1) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    out[i] = 128 | (state >>> 24);
  }
  return out;
};
