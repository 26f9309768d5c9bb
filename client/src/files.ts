// Saves result files: resumes interrupted downloads and verifies the SHA-256 of the service.
import { join } from "node:path";
import { namesOf, numbered, placeAt } from "./destinations.ts";
import { GenrouterError } from "./errors.ts";
import { partSink, type Sink, streamSink } from "./part-files.ts";
import { type ClientEnvironment, pauseMs } from "./request.ts";

/** Maximum number of consecutive interruptions without any byte in between, by default. */
const TRIES = 5;
/** A connection without data for this period is considered broken. */
const MAX_SILENCE_MS = 60_000;

export type SavedFile = { path: string; bytes: number; type: string };
/** Opens file `n` at the byte `from` if that is above 0; the response may contain the complete file nevertheless. */
export type OpenFile = (n: number, from: number, signal: AbortSignal) => Promise<Response>;
type SaveRequest = {
  tries?: number | undefined;
  to?: string | undefined;
  signal?: AbortSignal | undefined;
  onBytes?: ((n: number, bytes: number) => void) | undefined;
};

/** Properties of a response: offset of its bytes, size of the file, and its SHA-256 if the ETag is one. */
const factsOf = (response: Response) => {
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
  if (response.status === 206 && !range) {
    const of = { status: 206, requestId: response.headers.get("x-request-id") };
    throw new GenrouterError("unexpected_answer", "HTTP 206 without a valid Content-Range", of);
  }
  const length = response.headers.has("content-encoding") ? null : response.headers.get("content-length");
  return {
    from: range ? Number(range[1]) : 0,
    bytes: range ? Number(range[2]) : length === null ? null : Number(length),
    sha256: /^"([0-9a-f]{64})"$/.exec(response.headers.get("etag") ?? "")?.[1] ?? null,
    type: (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "",
  };
};

/** Writes the bytes of a response to the sink. Returns the resulting end of the file. */
const pour = async (sink: Sink, response: Response, from: number, reported: (end: number) => void): Promise<number> => {
  let end = from;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    await sink.write(chunk, end);
    end += chunk.length;
    reported(end);
  }
  return end;
};

/** A signal that aborts with the caller's signal, or after MAX_SILENCE_MS without data. */
const watchdog = (outer: AbortSignal | undefined) => {
  const controller = new AbortController();
  const stop = () => controller.abort(outer?.reason);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bark = () => controller.abort(new Error(`nothing came for ${MAX_SILENCE_MS / 1000} s`));
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(bark, MAX_SILENCE_MS);
  };
  if (outer?.aborted) stop();
  else outer?.addEventListener("abort", stop, { once: true });
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, alive, end };
};

/** Downloads over one connection. Returns the properties of the complete file, undefined after an interruption. */
const once = async (sink: Sink, openFile: OpenFile, n: number, { signal, onBytes }: SaveRequest) => {
  const have = await sink.size();
  const dog = watchdog(signal);
  try {
    // Requests the last byte again, so that the range of an already complete file is satisfiable and the response contains its
    // properties.
    const response = await openFile(n, Math.max(0, have - 1), dog.signal);
    const facts = factsOf(response);
    await sink.open(facts.from);
    dog.alive();
    const end = await pour(sink, response, facts.from, (bytes) => {
      dog.alive();
      onBytes?.(n, bytes);
    });
    await sink.sync();
    return facts.bytes === null || facts.bytes === end ? { ...facts, bytes: end } : undefined;
  } catch (fault) {
    if (signal?.aborted) throw signal.reason;
    if (!(fault instanceof GenrouterError)) return undefined;
    // A permanent error cannot be resumed. A part that is longer than the file belongs to another file.
    if (fault.status >= 400 && fault.status < 500) await sink.drop();
    if (fault.status === 416) return undefined;
    throw fault;
  } finally {
    dog.end();
    await sink.pause();
  }
};

/** Fills a sink with file `n`, complete and verified, or throws. */
const fill = async (
  world: ClientEnvironment,
  openFile: OpenFile,
  sink: Sink,
  { of, n }: { of: string; n: number },
  request: SaveRequest,
): Promise<SavedFile> => {
  let size = await sink.size();
  const tries = request.tries ?? TRIES;
  let isOther = false;
  for (let breaks = 0; breaks < tries && !(isOther && sink.isFinal); ) {
    if (breaks > 0) await world.sleep(pauseMs(breaks, null, world.random), request.signal);
    const facts = await once(sink, openFile, n, request);
    if (facts && (facts.sha256 === null || facts.sha256 === (await sink.sha256())))
      return { path: await sink.finish(facts.type), bytes: facts.bytes, type: facts.type };
    // The file is complete but does not match its hash, so nothing of it is kept.
    isOther = facts !== undefined;
    if (isOther) await sink.drop();
    const now = await sink.size();
    breaks = now > size ? 1 : breaks + 1;
    size = now;
  }
  const kept = sink.isFinal ? "what was written must not be used" : "none are kept";
  throw new GenrouterError(
    "broken_file",
    isOther
      ? `file ${n} of ${of} came whole, but its bytes do not match its SHA-256; ${kept}: download it again, and report it to the operator if it persists`
      : `file ${n} of ${of} broke off ${tries} times in a row; ${sink.isFinal ? "what was written is not whole" : "downloading again resumes"}`,
  );
};

/**
 * Saves every file of a generation in order, under its final name, completely or not at all. Bytes received before an
 * interruption are kept in a part file whose name contains the generation, and a later call resumes it. A FIFO, a device or an
 * open descriptor receives only the first file, because it has no name that can be numbered.
 * @throws GenrouterError `broken_file` after repeated interruptions or hash mismatches, `unwritable`, or the error of the
 * service.
 */
export const saveAll = async (
  world: ClientEnvironment,
  openFile: OpenFile,
  { id, output }: { id: string; output: { urls: readonly string[] } | null },
  request: SaveRequest,
): Promise<SavedFile[]> => {
  const { dir, name } = await namesOf(request.to);
  const saved: SavedFile[] = [];
  for (let n = 1; n <= (output?.urls.length ?? 0); n++) {
    const path = name === null ? null : join(dir, numbered(name, n));
    const place = path === null ? null : await placeAt(path);
    const sink =
      place?.kind === "stream"
        ? streamSink(place, request.signal)
        : partSink({ dir, path, target: place?.path ?? null, of: id, n });
    try {
      saved.push(await fill(world, openFile, sink, { of: id, n }, request));
    } finally {
      await sink.close();
    }
    if (place?.kind === "stream" && n === 1) break;
  }
  return saved;
};
