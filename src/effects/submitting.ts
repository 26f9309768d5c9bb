// Submitting an attempt: a connection of the provider's pool first, the journal next, the socket last.
import { verdictOf } from "../../actors/route-health.ts";
import { StorageRefused } from "../files/port.ts";
import type { Work } from "../providers/provider.ts";
import type { ResultFile } from "../terms.ts";
import type { Errand, Errands } from "./errands.ts";
import type { Finding } from "./finding.ts";
import { type EffectsParts, namesOf, readWork, STORAGE_PAUSE_MS } from "./parts.ts";

/** The two halves of a submission; the slot is held from the first to the end of the second. */
export const openSubmitting = (parts: EffectsParts, errands: Errands, finding: Finding) => {
  const slots = new Map<string, () => void>();
  const giveBack = (seq: number, n: number) => {
    slots.get(`${seq}:${n}`)?.();
    slots.delete(`${seq}:${n}`);
  };

  const takeSlot = async ({ seq, n, signal }: Errand): Promise<void> => {
    const work = await readWork(parts, seq, n);
    const request = parts.providers.compose(work);
    const release = await parts.providers.slot(work.attempt.route.provider, signal);
    if (signal.aborted) {
      release();
      return;
    }
    slots.set(`${seq}:${n}`, release);
    parts.report(seq, { type: "slotTaken", n, request, atMs: parts.clock.nowMs() });
  };

  /** A job belongs to one attempt; a provider that says otherwise has not said which job is ours. */
  const isOwnedElsewhere = async (seq: number, n: number, work: Work, jobId: string): Promise<boolean> => {
    const owner = await parts.reads.jobOwner(work.attempt.route.provider, jobId);
    return owner !== undefined && !(owner.seq === seq && owner.n === n);
  };

  /** What was made is in the answer and nowhere else: while the disk is full it is held. */
  const keepInline = async (errand: Errand, { attempt }: Work, results: readonly ResultFile[]): Promise<ResultFile[]> => {
    for (;;)
      try {
        return await parts.media.keepInline(attempt.ref, results);
      } catch (fault) {
        if (!(fault instanceof StorageRefused)) throw fault;
        await errand.pause(STORAGE_PAUSE_MS / parts.pace);
      }
  };

  /** Attempts of which the provider has proved that nobody sent them before. */
  const firsts = new Set<string>();
  /**
   * In a restored copy of a backup an attempt may have been sent before, by a service whose books are gone: its provider is asked, by the
   * means that settle any lost answer, before it is sent. @returns whether it may be sent; otherwise what was found is on its way.
   */
  const isFirst = async (errand: Errand, work: Work): Promise<boolean> => {
    const { seq, n } = errand;
    const name = `${seq}:${n}`;
    if (!finding.mayHaveTwin(seq) || firsts.has(name)) return true;
    const seen = await finding.lookUp(errand, work);
    if (seen === null) return false;
    const { routeId } = work.attempt.route;
    parts.log("restored attempt confirmed", { ...namesOf(work.attempt), route_id: routeId, state: seen.kind });
    if (seen.kind === "absent") firsts.add(name);
    const atMs = parts.clock.nowMs();
    if (seen.kind === "found") parts.report(seq, { type: "accepted", n, job: seen.job, atMs });
    if (seen.kind === "exhausted")
      parts.report(seq, { type: "answerLost", n, detail: "it may have been sent after the backup was taken", atMs });
    return seen.kind === "absent";
  };

  const send = async (errand: Errand): Promise<void> => {
    const { seq, n, signal } = errand;
    try {
      const work = await readWork(parts, seq, n);
      const { routeId } = work.attempt.route;
      if (!(await isFirst(errand, work))) return;
      const outcome = await parts.providers.submit(work, signal);
      // Broken off by us: it says nothing about the route, and a restart finds the attempt `sending`.
      if (signal.aborted) return;
      const atMs = parts.clock.nowMs();
      if (
        (outcome.kind === "accepted" || outcome.kind === "announced") &&
        (await isOwnedElsewhere(seq, n, work, outcome.job.jobId))
      ) {
        parts.report(seq, { type: "answerLost", n, detail: "the provider named a job of another attempt", atMs });
        return;
      }
      switch (outcome.kind) {
        case "accepted":
          parts.report(seq, { type: "accepted", n, job: outcome.job, atMs });
          break;
        case "announced":
          parts.report(seq, {
            type: "announced",
            n,
            job: outcome.job,
            results: await keepInline(errand, work, outcome.results),
            atMs,
          });
          break;
        case "rejected": {
          const verdict = verdictOf(outcome.failure.class);
          if (verdict) parts.judge(routeId, verdict, outcome.failure);
          parts.report(seq, { type: "rejected", n, failure: outcome.failure, atMs });
          break;
        }
        case "ambiguous":
          parts.judge(routeId, "failed");
          parts.report(seq, { type: "answerLost", n, detail: outcome.detail, atMs });
          break;
      }
    } catch (fault) {
      // A defect of ours, with the request perhaps out: confirmed like any lost answer, and told.
      parts.report(seq, { type: "answerLost", n, detail: "the sending broke off", atMs: parts.clock.nowMs() });
      throw fault;
    } finally {
      giveBack(seq, n);
    }
  };

  return {
    takeSlot: (seq: number, n: number) => errands.run(seq, n, "submit", takeSlot),
    send: (seq: number, n: number) => errands.run(seq, n, "send", send),
    /** A slot that was taken for an attempt that is not sent after all. */
    letGo: giveBack,
  };
};
