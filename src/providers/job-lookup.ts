// Looks a lost submission up on a provider's list: all pages, nobody else's jobs, and no guess where two could be ours.
import { ok } from "node:assert/strict";
import type { Claims } from "./job-claims.ts";
import { CLOCK_SLACK_MS, concludeFind } from "./list-match.ts";
import type { AdapterContext, Candidate, FindOutcome, ProviderRequest, ProviderResponse } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/**
 * A list that is still not at its end says nothing. After a restart it is read from an hour back, so that it has to reach over what a
 * busy service buys in that time: ten thousand jobs at a hundred a page.
 */
const MOST_PAGES = 100;

export type Lookup = {
  context: AdapterContext;
  sentAtMs: number;
  /** For all pages together. */
  timeoutMs: number;
  claims: Claims;
  isOwned: (providerId: string, jobId: string) => Promise<boolean>;
  /** The service's clock, by which `sentAtMs` was taken. */
  nowMs: () => number;
  /** When this process began: what was sent before was stamped by the clock of another. Infinite: so was this. */
  bornMs: number;
  /** A job with the same input may be somebody else's who is asking for it at this moment: only our reference counts. */
  onlyMarked: boolean;
};

/** The clock of a former process may have been off by this much, and be right now: nothing tells. */
const FORMER_CLOCK_DOUBT_MS = 3_600_000;

/** Whether the provider's clock, as its answer tells it, is so far from ours that "not since then" means nothing. */
const isClockApart = (response: ProviderResponse, nowMs: number): boolean => {
  const providerMs = Date.parse(response.headers.date ?? "");
  return !Number.isNaN(providerMs) && Math.abs(providerMs - nowMs) > CLOCK_SLACK_MS / 2;
};

/** By an id that is ours: whatever answers to it is nobody else's. */
const askForOurs = async (
  desk: ProviderClient,
  request: ProviderRequest,
  { context, sentAtMs, timeoutMs, claims }: Lookup,
  signal: AbortSignal,
): Promise<FindOutcome> => {
  const { adapter } = desk;
  const called = await desk.ask(request, timeoutMs, signal, context);
  if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
  const outcome = adapter.readFind?.(called.response, context, sentAtMs) ?? { kind: "unclear", detail: "no means to read it" };
  if (outcome.kind !== "found" || claims.take(adapter.id, outcome.job.jobId, context.ref)) return outcome;
  return { kind: "unclear", detail: "the job found was given to another attempt meanwhile" };
};

/** Asks once. `absent` only when every page was read and nothing on them could be ours. */
export const lookUpJob = async (desk: ProviderClient, lookup: Lookup, signal: AbortSignal): Promise<FindOutcome> => {
  const { adapter } = desk;
  const { sentAtMs, timeoutMs, claims, isOwned } = lookup;
  const context = sentAtMs < lookup.bornMs ? { ...lookup.context, clockDoubtMs: FORMER_CLOCK_DOUBT_MS } : lookup.context;
  if (adapter.find === undefined) return { kind: "unclear", detail: "no means to look it up" };
  if (adapter.readFind !== undefined) return await askForOurs(desk, adapter.find(context, sentAtMs, null), lookup, signal);
  ok(adapter.readFindPage, `${adapter.id} asks for a list that it cannot read`);
  const isAnothers = async (jobId: string) => {
    const holder = claims.holder(adapter.id, jobId);
    return (holder !== undefined && holder !== context.ref) || (await isOwned(adapter.id, jobId));
  };

  const endsAt = performance.now() + timeoutMs;
  const candidates: Candidate[] = [];
  let page: string | null = null;
  let isApart = false;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const leftMs = Math.max(1, Math.ceil(endsAt - performance.now()));
    const called = await desk.ask(adapter.find(context, sentAtMs, page), leftMs, signal, context);
    if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
    isApart ||= isClockApart(called.response, lookup.nowMs());
    const sifted = adapter.readFindPage(called.response, context, sentAtMs, page);
    if (sifted.kind === "unclear") return sifted;
    // Our reference on it makes it ours whatever else is said; the others may belong to somebody.
    for (const candidate of sifted.candidates)
      if (candidate.match === "certain" || !(lookup.onlyMarked || isApart || (await isAnothers(candidate.job.jobId))))
        candidates.push(candidate);
    page = sifted.next;
    if (page !== null && !candidates.some(({ match }) => match === "certain")) continue;
    const outcome = concludeFind(candidates);
    if (isApart && outcome.kind !== "found") return { kind: "unclear", detail: "the clocks are too far apart" };
    if (lookup.onlyMarked && outcome.kind !== "found") return { kind: "unclear", detail: "no job carries our reference" };
    if (outcome.kind === "found" && !claims.take(adapter.id, outcome.job.jobId, context.ref))
      return { kind: "unclear", detail: "the job found was given to another attempt meanwhile" };
    return outcome;
  }
  return { kind: "unclear", detail: `the list has more than ${MOST_PAGES} pages` };
};
