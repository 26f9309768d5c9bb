// Inspects a downloaded result and converts it to a standard format where possible.
import { open } from "node:fs/promises";
import type { MediaKind } from "../domain/types.ts";
import { type Files, type Incoming, StorageRefused } from "../files/port.ts";
import { checkResult, type Examined } from "./check-result.ts";
import { convert, type Target, targetOf } from "./convert/convert.ts";
import type { Inspection } from "./formats/inspection.ts";
import { readPlainPicture } from "./plain-picture.ts";
import type { Arrived } from "./receive-file.ts";
import { soundOnly } from "./result-kinds.ts";
import type { Source } from "./sandbox/child-process.ts";
import { inMemory, onDisk, type Sandbox } from "./sandbox/sandbox.ts";
import { createSemaphore } from "./semaphore.ts";

export type KindOptions = {
  files: Pick<Files, "receive">;
  /** Inspects and converts the files. */
  sandbox: Pick<Sandbox, "run">;
  /** Maximum size of a result file, bytes. */
  resultBytes: number;
  /** Pictures with more pixels are not converted. */
  convertPixels: number;
};

/** A file that is ready to be stored, with its inspection. */
export type Ready = { incoming: Incoming; bytes: number; sha256: string; found: Examined };

const notRead = () => new StorageRefused("the disk refused to read back");
const notWritten = (fault: unknown): never => {
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : "";
  throw new StorageRefused(`the disk refused: ${code}`);
};

const HASHED_BYTES = 1024 * 1024;
/** Computes the length and SHA-256 hash of a local file in chunks of 1 MiB. */
const weigh = async (path: string, bytes: number): Promise<{ bytes: number; sha256: string }> => {
  const hash = new Bun.CryptoHasher("sha256");
  for (let at = 0; at < bytes; at += HASHED_BYTES)
    hash.update(
      await Bun.file(path)
        .slice(at, Math.min(bytes, at + HASHED_BYTES))
        .bytes()
        .catch(() => {
          throw notRead();
        }),
    );
  return { bytes, sha256: hash.digest("hex") };
};

/** One conversion at a time, because a conversion may take seconds and link measurements need a free child. */
const CONVERTED_AT_A_TIME = 1;
/** A file that waits longer than this for conversion is delivered unchanged. */
const MAX_WAIT_MS = 30_000;

type Fresh = { generationId: string; n: number; kind: MediaKind; provider: string; incoming: Incoming; arrived: Arrived };
/** A file that may be converted. */
type Task = Fresh & { source: () => Source; before: Inspection; signal: AbortSignal; undo: Incoming[] };

export const createNormalizeResult = ({ files, sandbox, resultBytes, convertPixels }: KindOptions) => {
  const line = createSemaphore(CONVERTED_AT_A_TIME);

  const make = async (task: Task, to: Target): Promise<Ready | undefined> => {
    const { generationId, n, provider, before, signal, undo } = task;
    const made = await files.receive(generationId, n);
    undo.push(made);
    // Creates the file, which the conversion writes at any offset.
    await made.write();
    const file = await open(made.path, "r+").catch(notWritten);
    let bytes = 0;
    try {
      const sink = {
        mostBytes: resultBytes,
        write: async (place: number, piece: Uint8Array) => {
          for (let at = 0; at < piece.length; )
            at += (await file.write(piece, at, piece.length - at, place + at).catch(notWritten)).bytesWritten;
          bytes = Math.max(bytes, place + piece.length);
        },
      };
      const requested = { source: task.source(), sink, provider, signal };
      const conversion = { from: before.mime, to, mostPixels: convertPixels, before };
      const after = await convert(sandbox, conversion, requested, () => onDisk(made.path, bytes, notRead));
      if (!after) return undefined;
      const mime = after.kind === "audio" ? soundOnly(to) : to;
      return { incoming: made, ...(await weigh(made.path, bytes)), found: { ...after, mime } };
    } finally {
      await file.close();
    }
  };

  /** Converts the file; undefined if it stays unchanged. */
  const another = async (task: Task): Promise<Ready | undefined> => {
    const to = targetOf(task.before, task.kind, task.arrived.bytes);
    const leave = to && (await line.take(AbortSignal.any([task.signal, AbortSignal.timeout(MAX_WAIT_MS)])));
    if (!leave) return undefined;
    try {
      return await make(task, to);
    } finally {
      leave();
    }
  };

  /**
   * @param undo files to discard at the end unless they were stored; converted files are added to it
   * @throws UnreadableResult if the file is incomplete or does not match the order; StorageRefused; Busy
   */
  return async (fresh: Fresh, signal: AbortSignal, undo: Incoming[]): Promise<Ready> => {
    const { kind, provider, incoming, arrived } = fresh;
    const { whole } = arrived;
    const source = () => (whole ? inMemory(whole) : onDisk(incoming.path, arrived.bytes, notRead));
    const look = async () =>
      (whole && (await readPlainPicture(whole))) ??
      (await sandbox.run(
        "inspect",
        { depth: "whole" },
        { source: source(), who: { share: "result", account: provider }, signal },
      ));
    const found = await checkResult(look, arrived, kind);
    const made = found && (await another({ ...fresh, source, before: found, signal, undo }));
    const { bytes, sha256, mime } = arrived;
    return made ?? { incoming, bytes, sha256, found: found ?? { mime } };
  };
};
