// Job lookup: searches a provider's list for a submission without a response.
//
// The lookup reads all pages, ignores jobs of other attempts, and reports `unclear` if two jobs match.
import { ok } from "node:assert/strict";
import type { Claims } from "./job-claims.ts";
import { CLOCK_SLACK_MS, concludeFind } from "./list-match.ts";
import type { AdapterContext, Candidate, FindOutcome, ProviderRequest, ProviderResponse } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/**
 * A list with more pages proves nothing. After a restart the lookup starts one hour earlier. The list must then cover all jobs of
 * a busy service in that time: ten thousand jobs at a hundred on each page.
 */
const MAX_PAGES = 100;

export type Lookup = {
  context: AdapterContext;
  sentAtMs: number;
  /** For all pages together. */
  timeoutMs: number;
  claims: Claims;
  isOwned: (providerId: string, jobId: string) => Promise<boolean>;
  /** The service clock, which `sentAtMs` was read from. */
  nowMs: () => number;
  /**
   * The start of this process. An earlier `sentAtMs` was read from the clock of a former process; infinite if another node sent
   * the attempt.
   */
  bornMs: number;
  /** Only a job with our reference counts, because a job with the same input can belong to a concurrent submission. */
  onlyMarked: boolean;
};

/** The clock of a former process may have been wrong by this much and be correct now; nothing records its error. */
const FORMER_CLOCK_DOUBT_MS = 3_600_000;

/** Whether the `Date` header differs so much from the service clock that an absence since then proves nothing. */
const isClockApart = (response: ProviderResponse, nowMs: number): boolean => {
  const providerMs = Date.parse(response.headers.date ?? "");
  return !Number.isNaN(providerMs) && Math.abs(providerMs - nowMs) > CLOCK_SLACK_MS / 2;
};

/** Looks up a job by an id of this service, which no other submission has. */
const requestOwnJob = async (
  client: ProviderClient,
  request: ProviderRequest,
  { context, sentAtMs, timeoutMs, claims }: Lookup,
  signal: AbortSignal,
): Promise<FindOutcome> => {
  const { adapter } = client;
  const called = await client.request(request, timeoutMs, signal, context);
  if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
  const outcome = adapter.readFind?.(called.response, context, sentAtMs) ?? { kind: "unclear", detail: "no means to read it" };
  if (outcome.kind !== "found" || claims.take(adapter.id, outcome.job.jobId, context.ref)) return outcome;
  return { kind: "unclear", detail: "the job found was given to another attempt meanwhile" };
};

/** Looks up the job once. Returns `absent` only if every page was read and no job on them matches. */
export const lookUpJob = async (client: ProviderClient, lookup: Lookup, signal: AbortSignal): Promise<FindOutcome> => {
  const { adapter } = client;
  const { sentAtMs, timeoutMs, claims, isOwned } = lookup;
  const context = sentAtMs < lookup.bornMs ? { ...lookup.context, clockDoubtMs: FORMER_CLOCK_DOUBT_MS } : lookup.context;
  if (adapter.find === undefined) return { kind: "unclear", detail: "no means to look it up" };
  if (adapter.readFind !== undefined) return await requestOwnJob(client, adapter.find(context, sentAtMs, null), lookup, signal);
  ok(adapter.readFindPage, `${adapter.id} asks for a list that it cannot read`);
  const isAnothers = async (jobId: string) => {
    const holder = claims.holder(adapter.id, jobId);
    return (holder !== undefined && holder !== context.ref) || (await isOwned(adapter.id, jobId));
  };

  const endsAt = performance.now() + timeoutMs;
  const candidates: Candidate[] = [];
  let page: string | null = null;
  let isSkewed = false;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const leftMs = Math.max(1, Math.ceil(endsAt - performance.now()));
    const called = await client.request(adapter.find(context, sentAtMs, page), leftMs, signal, context);
    if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
    isSkewed ||= isClockApart(called.response, lookup.nowMs());
    const sifted = adapter.readFindPage(called.response, context, sentAtMs, page);
    if (sifted.kind === "unclear") return sifted;
    // A job with our reference always counts; another job counts only if no attempt owns it.
    for (const candidate of sifted.candidates)
      if (candidate.match === "certain" || !(lookup.onlyMarked || isSkewed || (await isAnothers(candidate.job.jobId))))
        candidates.push(candidate);
    page = sifted.next;
    if (page !== null && !candidates.some(({ match }) => match === "certain")) continue;
    const outcome = concludeFind(candidates);
    if (isSkewed && outcome.kind !== "found") return { kind: "unclear", detail: "the clocks are too far apart" };
    if (lookup.onlyMarked && outcome.kind !== "found") return { kind: "unclear", detail: "no job carries our reference" };
    if (outcome.kind === "found" && !claims.take(adapter.id, outcome.job.jobId, context.ref))
      return { kind: "unclear", detail: "the job found was given to another attempt meanwhile" };
    return outcome;
  }
  return { kind: "unclear", detail: `the list has more than ${MAX_PAGES} pages` };
};
