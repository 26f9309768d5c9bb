// Pins a linked input: downloads the file to result storage, hashes it and measures it.
//
// The file that is measured is therefore the file that is sent.

import { createFairQueue } from "../collections/fair-queue.ts";
import type { PinRequest } from "../domain/types.ts";
import { type Files, type Incoming, StorageRefused } from "../files/port.ts";
import { giveBack, Unreadable } from "./byte-source.ts";
import { gathering } from "./chunked-writer.ts";
import type { Inspection } from "./formats/inspect.ts";
import { type FetchOptions, guardedFetch } from "./guarded-fetch.ts";
import type { Media, PinOutcome, PinTarget } from "./port.ts";
import { Busy, onDisk, type Sandbox } from "./sandbox/sandbox.ts";

export type PinOptions = {
  /** Fetch options for links, without the signal. */
  fetch: Omit<FetchOptions, "signal" | "headers">;
  /** Storage of the pinned copies. */
  copies: Pick<Files, "receive" | "objectOf">;
  /** Inspects the copies. */
  sandbox: Pick<Sandbox, "run">;
  /** Maximum size of a file, bytes, and maximum time for its download, ms, counted from the moment that it has a place. */
  mostBytes: number;
  timeoutMs: number;
  places?: number;
  share?: number;
};

/** Maximum number of concurrent downloads, in total and for each account. */
const PLACES = 16;
const SHARE = 4;

/** The reason of a refusal; `mayPass` is true if a retry may succeed. */
class Refused extends Error {
  readonly mayPass: boolean;
  constructor(why: string, mayPass = false) {
    super(why);
    this.mayPass = mayPass;
  }
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

const answerTo = async (url: string, options: FetchOptions): Promise<Response> => {
  const fetched = await guardedFetch(url, options);
  if (fetched.kind !== "answered") throw new Refused(fetched.why, fetched.kind === "unreachable");
  const { status, body } = fetched.response;
  if (status === 200) return fetched.response;
  await body?.cancel().catch(() => {});
  throw new Refused(`its server answers ${status}`, status >= 500 || status === 429);
};

/** Streams a body into storage and returns its length and hash. @throws Refused, StorageRefused */
const stream = async (response: Response, incoming: Incoming, mostBytes: number) => {
  const announced = response.headers.get("content-length");
  const tooLarge = () => new Refused(`it is larger than media.pin_bytes (${mostBytes} bytes)`);
  if (announced !== null && Number(announced) > mostBytes) throw tooLarge();
  const reader = response.body?.getReader();
  const hash = new Bun.CryptoHasher("sha256");
  const kept = gathering(incoming);
  let bytes = 0;
  try {
    while (reader) {
      const { done, value } = await reader.read().catch(() => {
        throw new Refused("its connection broke", true);
      });
      if (done) break;
      bytes += value.length;
      if (bytes > mostBytes) throw tooLarge();
      hash.update(value);
      const written = kept.write(value);
      if (!written) continue;
      await written;
      giveBack(value);
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
  if (bytes === 0) throw new Refused("it is empty");
  if (announced !== null && Number(announced) !== bytes) throw new Refused(`${bytes} of ${announced} bytes came`, true);
  await kept.end();
  return { bytes, sha256: hash.digest("hex") };
};

/** Describes how a clip differs from the measurement that its price is based on; undefined if it does not differ. */
export const lengthFault = (
  { kind, ms: found, frameMs, isUncounted }: Pick<Inspection, "kind" | "ms" | "frameMs" | "isUncounted">,
  wanted: PinRequest,
): string | undefined => {
  if (kind !== wanted.kind) return `the file that was fetched is ${kind}, not ${wanted.kind}`;
  const ms = isUncounted ? undefined : found;
  const mostOffMs = Math.min(wanted.frameMs, Math.max(1, Math.ceil(frameMs ?? wanted.frameMs)));
  if (ms !== undefined && Math.abs(ms - wanted.measuredMs) <= mostOffMs) return undefined;
  return `the file that was fetched is ${inSeconds(ms ?? 0)} long, and ${inSeconds(wanted.measuredMs)} were measured at submission`;
};

/** Implements `pin` of the port. */
export const createPinInput = ({ fetch, copies, sandbox, mostBytes, timeoutMs, places, share }: PinOptions): Media["pin"] => {
  const line = createFairQueue({ places: places ?? PLACES, perAccount: share ?? SHARE, cost: 1 });

  /** Downloads the file within `timeoutMs`; the sandbox bounds the inspection separately. */
  const receive = async (wanted: PinTarget, signal: AbortSignal, undo: Incoming[]) => {
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const response = await answerTo(wanted.url, { ...fetch, signal: AbortSignal.any([signal, late]) });
      const incoming = await copies.receive(wanted.generationId, wanted.n);
      undo.push(incoming);
      return { incoming, ...(await stream(response, incoming, mostBytes)) };
    } catch (fault) {
      if (!late.aborted || fault instanceof StorageRefused) throw fault;
      throw new Refused(`it was not fetched within media.pin_s (${timeoutMs / 1000} s)`);
    }
  };

  const downloadInput = async (wanted: PinTarget, signal: AbortSignal, undo: Incoming[]): Promise<PinOutcome> => {
    const { incoming, bytes, sha256 } = await receive(wanted, signal, undo);
    const source = onDisk(incoming.path, bytes, () => new StorageRefused("the disk refused to read back"));
    const who = { share: "input", account: String(wanted.accountSeq) };
    const found = await sandbox.run("inspect", { depth: "counted" }, { source, who, signal });
    const fault = lengthFault(found, wanted);
    if (fault !== undefined) throw new Refused(fault);
    const { ms = 0 } = found;
    const { n } = wanted;
    if (wanted.sha256 !== undefined && wanted.sha256 !== sha256)
      throw new Refused("our copy of it is gone, and its link does not lead to the same file any more");
    const object = copies.objectOf?.({ n, sha256 });
    await incoming.keep({ n, sha256, bytes, mime: found.mime, ...(object === undefined ? {} : { object }) });
    return { kind: "pinned", copy: { n, sha256, bytes, mime: found.mime, ms } };
  };

  return async (wanted, signal) => {
    const leave = await line.take({ share: "input", account: String(wanted.accountSeq) }, signal);
    if (!leave) return { kind: "called-off" };
    const undo: Incoming[] = [];
    try {
      return await downloadInput(wanted, signal, undo);
    } catch (fault) {
      if (signal.aborted) return { kind: "called-off" };
      // No sandbox child was free, which implies nothing about the file.
      if (fault instanceof Busy) return { kind: "storage-refused", detail: fault.message };
      if (fault instanceof StorageRefused) return { kind: "storage-refused", detail: fault.message };
      if (fault instanceof Unreadable) return { kind: "refused", why: fault.message, mayPass: false };
      if (fault instanceof Refused) return { kind: "refused", why: fault.message, mayPass: fault.mayPass };
      throw fault;
    } finally {
      leave();
      for (const incoming of undo) await incoming.discard();
    }
  };
};
