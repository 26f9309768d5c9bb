// Pinning inputs before the first attempt, and giving the copies to the provider of each: what was measured is what is sent.
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Failure, GivenAs, Pin, PinnedCopy } from "../domain/types.ts";
import { linkAt } from "../inputs/pinned-links.ts";
import type { PinOutcome } from "../media/port.ts";
import type { Work } from "../providers/port.ts";
import type { Uploaded } from "../providers/uploads.ts";
import { type EffectsDeps, namesOf, STORAGE_PAUSE_MS, spreadMs } from "./deps.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** A link that did not answer is tried again so often, after a moment, as long as its time lasts. */
const TRIES = 3;
const AGAIN_MS = 2_000;
/** While our storage refuses, the file is fetched anew at each try. */
const LONGEST_STORAGE_PAUSE_MS = 300_000;
/** An upload to a provider's storage buys nothing, and is tried as often. */
const UPLOAD_TRIES = 3;

/** How the provider gets the files, and what stands in the request in the places of links, by link; asked for when it is composed. */
export type Given = { as: GivenAs; links: () => Record<string, string> };

export type Pinning = {
  pin(seq: number): void;
  /** Nothing is fetched for a generation that has ended. */
  ended(seq: number): void;
  /**
   * Gives the copies of an attempt's inputs to its provider, as far as that is done before the request is written down.
   * @returns what stands in the request; undefined where nothing is pinned; null when it was told why the attempt cannot be sent.
   */
  give(task: Task, work: Work): Promise<Given | undefined | null>;
};

export const createPinInputs = (deps: EffectsDeps, tasks: TaskRunner): Pinning => {
  const { clock, media, reads, giving, providers } = deps;

  /** Fetches one link, however long our own storage refuses; null when it was called off. */
  const fetchOne = async (task: Task, wanted: Parameters<typeof media.pin>[0]) => {
    let refusals = 0;
    for (let turn = 1; ; ) {
      const outcome: PinOutcome = await media.pin(wanted, task.signal);
      if (task.signal.aborted || outcome.kind === "called-off") return null;
      if (outcome.kind === "storage-refused")
        await task.pause(spreadMs(deps, STORAGE_PAUSE_MS, LONGEST_STORAGE_PAUSE_MS, refusals++));
      else if (outcome.kind === "pinned" || !outcome.mayPass || turn >= TRIES) return outcome;
      else {
        turn += 1;
        await task.pause(AGAIN_MS / deps.pace);
      }
    }
  };

  const wantedOf = async (seq: number, pin: Pin) => {
    const [record, input] = await Promise.all([reads.generationBySeq(seq), reads.inputOf(seq)]);
    const url = input && linkAt(input.raw, pin.field);
    if (!record || url === undefined) throw new Error(`generation ${seq} has no ${pin.field} to pin`);
    const { copy, ...asked } = pin;
    return { ...asked, url, generationId: record.id, accountSeq: record.accountSeq, ...(copy ? { sha256: copy.sha256 } : {}) };
  };

  const pinAll = async (task: Task): Promise<void> => {
    const { seq } = task;
    const copies: PinnedCopy[] = [];
    // One after the other: a generation takes one place at a time, and the first that is refused decides.
    for (const pin of await reads.pinsOf(seq)) {
      const outcome = await fetchOne(task, await wantedOf(seq, pin));
      if (outcome === null) return;
      const atMs = clock.nowMs();
      if (outcome.kind === "refused") return deps.report(seq, { type: "pinRefused", why: `${pin.field}: ${outcome.why}.`, atMs });
      copies.push(outcome.copy);
    }
    deps.report(seq, { type: "pinned", copies, atMs: clock.nowMs() });
  };

  /** Makes sure that every copy is there: one that is not, in a restored backup for example, is fetched anew and must be the same file. */
  const restore = async (task: Task, pins: readonly Pin[], generationId: string): Promise<boolean> => {
    for (const pin of pins) {
      if (pin.copy && (await media.hasCopy(generationId, pin.copy))) continue;
      const outcome = await fetchOne(task, await wantedOf(task.seq, pin));
      if (outcome === null) return false;
      if (outcome.kind === "pinned") continue;
      const why = `${pin.field}: ${outcome.kind === "refused" ? outcome.why : "it cannot be had"}.`;
      deps.report(task.seq, { type: "pinLost", n: task.n, why, atMs: clock.nowMs() });
      return false;
    }
    return true;
  };

  const upload = async (task: Task, work: Work, copy: PinnedCopy): Promise<Uploaded> => {
    const { provider, routeId } = work.attempt.route;
    const { generation_id: id } = namesOf(work.attempt);
    for (let turn = 1; ; turn += 1) {
      const file = await media.copyOf(id, copy);
      if (!file) return { failure: { class: "not_sent", detail: "our copy of an input is not there" } };
      const done = await providers.upload(
        provider,
        { file, mime: copy.mime, name: `${work.attempt.ref}-${copy.n}` },
        task.signal,
      );
      if ("url" in done || turn >= UPLOAD_TRIES || task.signal.aborted) return done;
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

  /** A link is for as long as the route has, from when it is made. */
  const signed = async ({ attempt: { seq, ref, route } }: Work) => {
    const planned = (await reads.planOf(seq))?.plan.find(({ routeId }) => routeId === route.routeId);
    const base = giving.linkBase(route.provider);
    return ({ n }: PinnedCopy) => deps.signInput(base, ref, n, clock.nowMs() + (planned?.timeoutMs ?? 0));
  };
  /** What stands in the request in the place of a copy; null when it was told why there is nothing. */
  const placed = async (task: Task, work: Work, copies: readonly PinnedCopy[], as: GivenAs) => {
    const { provider, routeId } = work.attempt.route;
    if (as === "link") return signed(work);
    // The bytes are put in when it is sent: what is written down says which they are.
    if (as === "inline") return (copy: PinnedCopy) => providers.placeOf(provider, copy);
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
    return ({ n }: PinnedCopy) => urls.get(n) ?? "";
  };

  return {
    pin: (seq) => tasks.run(seq, 0, "pin", pinAll),
    ended: (seq) => tasks.letGo(seq, 0),
    give: async (task, work) => {
      const { pins = [], attempt, input } = work;
      if (pins.length === 0) return undefined;
      if (!(await restore(task, pins, namesOf(attempt).generation_id)) || task.signal.aborted) return null;
      const copies = pins.flatMap(({ copy }) => copy ?? []);
      const as = giving.formFor(attempt.route.provider, Math.max(0, ...copies.map(({ bytes }) => bytes)));
      if (as === null)
        return unsendable(task, {
          class: "invalid_for_route",
          detail: "its provider can be given no copy of the input: see files.provider_links and media.unpinned",
        });
      const place = await placed(task, work, copies, as);
      if (place === null) return null;
      const linked = pins.map(({ field, copy }) => [linkAt(input.raw, field), copy] as const);
      const links = () => Object.fromEntries(linked.flatMap(([link, copy]) => (link && copy ? [[link, place(copy)]] : [])));
      return { as, links };
    },
  };
};
