// Copies a stored part of a resumable upload, and compares it with its recorded size and hash.
//
// A read that fails or ends early is repeated behind the bytes that it delivered. Only a part that is proved to be missing or
// damaged ends the upload.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { UploadPart } from "../domain/resumable-mutations.ts";
import { releaseChunk } from "./release-chunk.ts";

export type CopyPartDeps = {
  clock: Pick<Clock, "after">;
  /** Reads a stored part from the disk or the bucket; undefined if it is missing. */
  readPart: (part: UploadPart) => Promise<Response | undefined>;
};

/** Pauses before the second and the third read of a part, ms. */
const PAUSES_MS = [200, 1_000];

type Outcome = "whole" | "missing" | "damaged" | "failed";
type Hash = Bun.CryptoHasher;
/** The bytes of the part that are written, which a further read has to begin with. */
type Written = { bytes: number; hash: Hash };
type Sink = (chunk: Uint8Array) => Promise<void>;

const sha256 = (): Hash => new Bun.CryptoHasher("sha256");
const digestOf = (hash: Hash): string => hash.copy().digest("hex");

/** A fault of the sink, which is no failed read. */
class Unwritten extends Error {}

/** Writes what a body has behind the written bytes. @returns whether it began with the written bytes */
const writeBehind = async (body: AsyncIterable<Uint8Array>, written: Written, sink: Sink): Promise<boolean> => {
  const hash = sha256();
  let bytes = 0;
  for await (const chunk of body) {
    const known = Math.min(chunk.length, Math.max(0, written.bytes - bytes));
    hash.update(chunk.subarray(0, known));
    bytes += known;
    if (known === chunk.length) continue;
    if (bytes === written.bytes && digestOf(hash) !== digestOf(written.hash)) return false;
    const fresh = chunk.subarray(known);
    hash.update(fresh);
    bytes += fresh.length;
    await sink(fresh).catch((cause: unknown) => Promise.reject(new Unwritten("", { cause })));
    written.hash = hash.copy();
    written.bytes = bytes;
    releaseChunk(chunk);
  }
  return bytes === written.bytes && digestOf(hash) === digestOf(written.hash);
};

const readOnce = async (part: UploadPart, written: Written, { readPart }: CopyPartDeps, sink: Sink): Promise<Outcome> => {
  try {
    const response = await readPart(part);
    if (!response) return "missing";
    const announced = Number(response.headers.get("content-length") ?? Number.NaN);
    if (!(await writeBehind(response.body ?? new Blob().stream(), written, sink))) return "failed";
    if (written.bytes === part.bytes) return digestOf(written.hash) === part.sha256 ? "whole" : "damaged";
    return written.bytes === announced ? "damaged" : "failed";
  } catch (fault) {
    if (fault instanceof Unwritten) throw fault.cause;
    return "failed";
  }
};

/**
 * Passes the bytes of a part to the sink, each once.
 * @throws ApiError `server_error` for a part that is missing or damaged, `busy` for one that cannot be read now; the faults of the
 * sink
 */
export const copyPart = async (part: UploadPart, deps: CopyPartDeps, sink: Sink): Promise<void> => {
  const written: Written = { bytes: 0, hash: sha256() };
  const outcomes = [await readOnce(part, written, deps, sink)];
  for (const pauseMs of PAUSES_MS) {
    if (outcomes.at(-1) === "whole") return;
    await new Promise<void>((resolve) => void deps.clock.after(pauseMs, resolve));
    outcomes.push(await readOnce(part, written, deps, sink));
  }
  if (outcomes.at(-1) === "whole") return;
  // Two reads in a row are the proof.
  if (outcomes.slice(-2).includes("failed"))
    refuse("busy", "The service cannot read the upload at present; complete it later with HEAD.");
  refuse("server_error", "The service has lost a part of the upload; create a new upload and send the file again.");
};
