// Clients of a simulated world that upload files, take them as inputs and delete them.
import { ApiError } from "../../domain/api-errors.ts";
import type { UploadedFile } from "../../domain/upload-mutations.ts";
import type { UploadService } from "../../uploads/upload-service.ts";
import { callerOf } from "./callers.ts";
import type { SendRequest } from "./client-requests.ts";
import type { ClientLog, PlannedRequest } from "./clients.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";
import { sha256Of } from "./stored-uploads.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import { clipBytes, NO_CLIP } from "./upload-contents.ts";
import type { UploadWorld } from "./upload-world.ts";

/** An upload and its response. `id`: the file that was acknowledged; `refused`: the code of the API error. */
export type SentUpload = { account: number; sha256: string; isClip: boolean; file: UploadedFile | null; refused: string | null };
/** A deletion and its outcome; null without a response. */
export type SentRemoval = { id: string; outcome: "removed" | "refused" | null; refused: string | null };
export type UploadLog = { uploads: SentUpload[]; removals: SentRemoval[] };

const MINUTE_MS = 60_000;
/** Temporary API errors, after which a client uploads again. */
const PASSING: ReadonlySet<string> = new Set(["restarting", "busy", "concurrency_limit"]);
const MAX_TRIES = 8;
/** A client closes the connection of an upload after this time. */
const GIVES_UP_MS = 20_000;
/** The latest deletion after an upload, during a submission that takes the file, and after its admission. */
const REMOVED_WITHIN_MS = 10 * MINUTE_MS;
const REMOVED_MEANWHILE_MS = 10;
const REMOVED_IN_USE_MS = 20_000;
const CHUNK_BYTES = 400;
/** Share of the inputs that are links instead of short forms. */
const LINKS = 0.3;

export type UploadClientsDeps = {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  faults: () => Faults;
  send: SendRequest;
  accountSeqs: readonly number[];
  uploads: UploadWorld;
  notebook: Pick<ClientLog, "seen">;
  log: UploadLog;
  situations: CoverageCounters;
};

/** The body of an upload in chunks. @param breaksAt the byte at which the connection breaks; null: it does not */
const streamOf = ({ world, dice }: UploadClientsDeps, bytes: Uint8Array, breaksAt: number | null): ReadableStream<Uint8Array> => {
  let at = 0;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await new Promise<void>((wake) => world.after(dice.between(0, 800) * dice.roll(), wake));
    if (breaksAt !== null && at >= breaksAt) return controller.error(new Error("the connection was lost"));
    if (at >= bytes.length) return controller.close();
    controller.enqueue(bytes.slice(at, at + CHUNK_BYTES));
    at += CHUNK_BYTES;
  };
  return new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
};

const createUpload = (deps: UploadClientsDeps) => {
  const { world, trace, dice, faults, accountSeqs, situations } = deps;
  const sendOnce = async (account: number, bytes: Uint8Array): Promise<UploadedFile | ApiError | undefined> => {
    const breaksAt = dice.chance(faults().brokenUpload) ? dice.whole(0, bytes.length) : null;
    if (breaksAt !== null) situations.count("uploadsBroken");
    const closing = new AbortController();
    const body = { stream: streamOf(deps, bytes, breaksAt), contentType: "video/mp4", contentLength: bytes.length };
    const takeBack = world.after(GIVES_UP_MS, () => closing.abort());
    const answer = await deps.send(
      (node) => node.uploads(),
      (service: UploadService) =>
        service
          .create(body, callerOf(accountSeqs, account), closing.signal, () => undefined)
          .catch((fault: unknown) => (fault instanceof ApiError ? fault : undefined)),
    );
    takeBack();
    return answer;
  };
  return async (account: number, name: string): Promise<UploadedFile | undefined> => {
    const isClip = !dice.chance(0.05);
    const bytes = isClip ? clipBytes(account, dice.whole(0, 3)) : NO_CLIP;
    for (let turn = 0; turn < MAX_TRIES; turn += 1) {
      const answer = await sendOnce(account, bytes);
      const file = answer instanceof ApiError ? null : (answer ?? null);
      const refused = answer instanceof ApiError ? answer.code : null;
      deps.log.uploads.push({ account, sha256: sha256Of(bytes), isClip, file, refused });
      trace.report(`c${account}`, "upload", name, file ? "201" : String(refused));
      if (file) return file;
      if (refused === "upload_quota_exceeded") situations.count("uploadsOverQuota");
      if (refused !== null && !PASSING.has(refused) && !dice.chance(0.5)) return undefined;
      await new Promise<void>((wake) => world.after(dice.between(200, 30_000), wake));
    }
    return undefined;
  };
};

export const createUploadClients = (deps: UploadClientsDeps) => {
  const { world, trace, dice, faults, accountSeqs, uploads, situations, log } = deps;
  const upload = createUpload(deps);
  const remove = async (id: string, account: number): Promise<void> => {
    const answer = await deps.send(
      (node) => node.uploads(),
      (service) =>
        service.remove(id, callerOf(accountSeqs, account)).then(
          () => "removed" as const,
          (fault: unknown) => (fault instanceof ApiError ? fault : undefined),
        ),
    );
    const refused = answer instanceof ApiError ? answer.code : null;
    log.removals.push({ id, outcome: refused === null ? (answer === undefined ? null : "removed") : "refused", refused });
    if (refused === "file_in_use") situations.count("filesInUse");
    trace.report(`c${account}`, "delete file", "", String(refused ?? typeof answer));
  };
  const maybeRemove = (id: string, account: number, withinMs: number): void => {
    if (dice.chance(faults().removedFile)) world.after(dice.between(0, withinMs), () => void remove(id, account));
  };
  const send = async (account: number, name: string): Promise<void> => {
    const file = await upload(account, name);
    if (file) maybeRemove(file.id, account, REMOVED_WITHIN_MS);
  };
  /** The id of a stored file that the account can name; undefined: none. */
  const storedFileOf = (account: number, kind: "file" | "result"): string | undefined => {
    const accountSeq = accountSeqs[account] ?? 0;
    const removed = new Set(log.removals.map(({ id }) => id));
    const files = log.uploads.flatMap(({ account: of, file }) =>
      of === account && file && !removed.has(file.id) ? [file.id] : [],
    );
    const results = [...deps.notebook.seen.values()].flatMap((seen) => {
      const record = seen.at(-1)?.record;
      const isClip = record?.accountSeq === accountSeq && record.status === "succeeded" && record.output?.kind === "video";
      return isClip && record.erasedAtMs === null ? [record.id] : [];
    });
    const among = kind === "file" ? files : results;
    return among.length === 0 ? undefined : dice.pick(among);
  };

  return {
    begin: (spanMs: number) => {
      for (const account of accountSeqs.keys())
        for (let n = dice.whole(1, 4); n > 0; n -= 1)
          world.after(dice.between(5_000, spanMs), () => void send(account, `${account}-${n}`));
    },
    /** Chooses the stored file that a request will name, before its first submission. */
    choose: (planned: PlannedRequest): void => {
      const { account, stored } = planned;
      const id = stored === undefined ? undefined : storedFileOf(account, stored);
      if (id === undefined || planned.clip !== null) return;
      situations.count(stored === "file" ? "filesTaken" : "resultsTaken");
      if (stored === "file" && dice.chance(0.6)) maybeRemove(id, account, REMOVED_MEANWHILE_MS);
      planned.clip = dice.chance(LINKS) ? uploads.links.sign(id, 1, ".mp4") : stored === "file" ? id : `${id}/1`;
    },
    /** Sometimes deletes the file of a request whose generation may still need it. */
    accepted: ({ account, clip, stored }: PlannedRequest): void => {
      const id = stored === "file" ? /file_[0-9a-z]+/.exec(clip ?? "")?.[0] : undefined;
      if (id !== undefined) maybeRemove(id, account, REMOVED_IN_USE_MS);
    },
  };
};
