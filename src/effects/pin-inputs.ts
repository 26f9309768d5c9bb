// Pins inputs before the first attempt and transfers the copies to each provider.
//
// The bytes that are measured are the bytes that are sent.
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Failure, GivenAs, InputFile, Pin, PinnedCopy } from "../domain/types.ts";
import { linkAt } from "../inputs/pinned-links.ts";
import type { PinOutcome } from "../media/port.ts";
import type { Work } from "../providers/port.ts";
import type { Uploaded } from "../providers/uploads.ts";
import { type EffectsDeps, namesOf, STORAGE_PAUSE_MS, spreadMs } from "./deps.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** Retries of a link that did not answer, within its time limit. */
const TRIES = 3;
const AGAIN_MS = 2_000;
/** Longest pause in milliseconds while our storage rejects the file; the file is fetched again each time. */
const MAX_STORAGE_PAUSE_MS = 300_000;
/** Retries of an upload to a provider, which buys nothing. */
const UPLOAD_TRIES = 3;

/**
 * How the provider receives the files, and the replacement of each link in the request; computed when the request is composed.
 */
export type Given = { as: GivenAs; links: () => Record<string, string> };

/** A pinned copy or a stored file. */
type GivenFile = Pick<PinnedCopy, "n" | "sha256" | "bytes" | "mime">;

export type Pinning = {
  pin(seq: number): void;
  /** Stops downloads for an ended generation. */
  ended(seq: number): void;
  /**
   * Transfers the copies and the stored files of an attempt's inputs, as far as required before the request is written.
   * @returns the replacements; undefined without such inputs; null after it reported why the attempt cannot be sent.
   */
  give(task: Task, work: Work): Promise<Given | undefined | null>;
};

export const createPinInputs = (deps: EffectsDeps, tasks: TaskRunner): Pinning => {
  const { clock, media, reads, giving, providers } = deps;

  /** Fetches one link, however long our storage rejects it; null if it was stopped. */
  const fetchOne = async (task: Task, wanted: Parameters<typeof media.pin>[0]) => {
    let refusals = 0;
    for (let round = 1; ; ) {
      const outcome: PinOutcome = await media.pin(wanted, task.signal);
      if (task.signal.aborted || outcome.kind === "called-off") return null;
      if (outcome.kind === "storage-refused")
        await task.pause(spreadMs(deps, STORAGE_PAUSE_MS, MAX_STORAGE_PAUSE_MS, refusals++));
      else if (outcome.kind === "pinned" || !outcome.mayPass || round >= TRIES) return outcome;
      else {
        round += 1;
        await task.pause(AGAIN_MS / deps.pace);
      }
    }
  };

  const pinRequest = async (seq: number, pin: Pin) => {
    const [record, input] = await Promise.all([reads.generationBySeq(seq), reads.inputOf(seq)]);
    const url = input && linkAt(input.raw, pin.field);
    if (!record || url === undefined) throw new Error(`generation ${seq} has no ${pin.field} to pin`);
    const { copy, ...requested } = pin;
    return {
      ...requested,
      url,
      generationId: record.id,
      accountSeq: record.accountSeq,
      ...(copy ? { sha256: copy.sha256 } : {}),
    };
  };

  const pinAll = async (task: Task): Promise<void> => {
    const { seq } = task;
    const copies: PinnedCopy[] = [];
    // Links are fetched one after the other: a generation takes one slot at a time, and the first rejected link decides.
    for (const pin of await reads.pinsOf(seq)) {
      const outcome = await fetchOne(task, await pinRequest(seq, pin));
      if (outcome === null) return;
      const atMs = clock.nowMs();
      if (outcome.kind === "refused") return deps.report(seq, { type: "pinRefused", why: `${pin.field}: ${outcome.why}.`, atMs });
      copies.push(outcome.copy);
    }
    deps.report(seq, { type: "pinned", copies, atMs: clock.nowMs() });
  };

  /**
   * Ensures that every copy exists. A missing one, for example in a restored backup, is fetched again and must be the same file.
   */
  const restore = async (task: Task, pins: readonly Pin[], generationId: string): Promise<boolean> => {
    for (const pin of pins) {
      if (pin.copy && (await media.hasCopy(generationId, pin.copy))) continue;
      const outcome = await fetchOne(task, await pinRequest(task.seq, pin));
      if (outcome === null) return false;
      if (outcome.kind === "pinned") continue;
      const why = `${pin.field}: ${outcome.kind === "refused" ? outcome.why : "it cannot be had"}.`;
      deps.report(task.seq, { type: "pinLost", n: task.n, why, atMs: clock.nowMs() });
      return false;
    }
    return true;
  };

  /** Ensures that every stored file exists. A restored backup may lack one. */
  const requireFiles = async (task: Task, files: readonly InputFile[]): Promise<boolean> => {
    for (const file of files) {
      if (await deps.hasFile(file)) continue;
      const why = `${file.field}: the stored file is missing.`;
      deps.report(task.seq, { type: "pinLost", n: task.n, why, atMs: clock.nowMs() });
      return false;
    }
    return true;
  };

  const upload = async (task: Task, work: Work, copy: PinnedCopy): Promise<Uploaded> => {
    const { provider, routeId } = work.attempt.route;
    const { generation_id: id } = namesOf(work.attempt);
    for (let round = 1; ; round += 1) {
      const file = await media.copyOf(id, copy);
      if (!file) return { failure: { class: "not_sent", detail: "our copy of an input is not there" } };
      const done = await providers.upload(
        provider,
        { file, mime: copy.mime, name: `${work.attempt.ref}-${copy.n}` },
        task.signal,
      );
      if ("url" in done || round >= UPLOAD_TRIES || task.signal.aborted) return done;
      deps.log("unrecognized provider response", {
        ...namesOf(work.attempt),
        route_id: routeId,
        provider,
        detail: done.failure.detail,
      });
      await task.pause(AGAIN_MS / deps.pace);
    }
  };

  const unsendable = (task: Task, failure: Failure): null => {
    deps.report(task.seq, { type: "unsendable", n: task.n, failure, atMs: clock.nowMs() });
    return null;
  };

  /** A link is valid for the route timeout from its creation. */
  const signed = async ({ attempt: { seq, ref, route } }: Work) => {
    const planned = (await reads.planOf(seq))?.plan.find(({ routeId }) => routeId === route.routeId);
    const base = giving.linkBase(route.provider);
    return ({ n }: GivenFile, mime?: string) => deps.signInput(base, ref, n, clock.nowMs() + (planned?.timeoutMs ?? 0), mime);
  };
  /** The replacement of each link in the request; null after it reported why there is none. */
  const placed = async (task: Task, work: Work, copies: readonly PinnedCopy[], as: GivenAs) => {
    const { provider, routeId } = work.attempt.route;
    if (as === "link") return signed(work);
    // The bytes are inserted on sending; the written request names them.
    if (as === "inline") return (copy: GivenFile) => providers.placeOf(provider, copy);
    const urls = new Map<number, string>();
    for (const copy of copies) {
      const done = await upload(task, work, copy);
      if (task.signal.aborted) return null;
      if ("failure" in done) {
        const verdict = verdictOf(done.failure.class);
        if (verdict) deps.judge(routeId, verdict, done.failure, done.isOfAccount);
        return unsendable(task, done.failure);
      }
      urls.set(copy.n, done.url);
    }
    return ({ n }: GivenFile) => urls.get(n) ?? "";
  };

  return {
    pin: (seq) => tasks.run(seq, 0, "pin", pinAll),
    ended: (seq) => tasks.letGo(seq, 0),
    give: async (task, work) => {
      const { pins = [], files = [], attempt, input } = work;
      if (pins.length + files.length === 0) return undefined;
      if (!(await restore(task, pins, namesOf(attempt).generation_id)) || task.signal.aborted) return null;
      if (!(await requireFiles(task, files)) || task.signal.aborted) return null;
      const copies = pins.flatMap(({ copy }) => copy ?? []);
      const mostBytes = Math.max(0, ...[...copies, ...files].map(({ bytes }) => bytes));
      const as = giving.formFor(attempt.route.provider, mostBytes, files.length > 0);
      if (as === null)
        return unsendable(task, {
          class: "invalid_for_route",
          detail: "its provider can be given no copy of the input: see files.provider_links and media.unpinned",
        });
      const place = await placed(task, work, copies, as);
      if (place === null) return null;
      const linked = [
        ...pins.map(({ field, copy }) => [linkAt(input.raw, field), copy, undefined] as const),
        // Some providers detect the format by the extension of the path.
        ...files.map((file) => [linkAt(input.raw, file.field), file, file.mime] as const),
      ];
      const links = () =>
        Object.fromEntries(linked.flatMap(([link, file, mime]) => (link && file ? [[link, place(file, mime)]] : [])));
      return { as, links };
    },
  };
};
