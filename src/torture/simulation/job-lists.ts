// Lookup of a lost job with the service's own code over simulated lists.
import type { Claims } from "../../providers/job-claims.ts";
import { lookUpJob } from "../../providers/job-lookup.ts";
import { earliestOf } from "../../providers/list-match.ts";
import type { Adapter, Candidate, FindOutcome, Recovery, Work } from "../../providers/port.ts";
import type { ProviderClient } from "../../providers/provider-client.ts";
import { PROVIDERS } from "./market.ts";
import type { Upstream, UpstreamJob } from "./upstream.ts";

type Listed = Pick<UpstreamJob, "jobId" | "ref" | "input" | "takenAtMs">;

/** Jobs per page; few, so that lookups read several pages. */
const PAGE = 3;

/** A dialect for lists: pages of jobs, identified by a marker or by their input alone. */
const listReader = (provider: string, recovery: Recovery, sent: string): Pick<Adapter, "id" | "find" | "readFindPage"> => ({
  id: provider,
  find: (_, __, page) => ({ method: "GET", url: `list:${page ?? "0"}`, headers: {} }),
  readFindPage: (response, context, sentAtMs) => {
    const { jobs, next } = response.json as { jobs: Listed[]; next: string | null };
    const candidates = jobs.flatMap((job): Candidate[] => {
      if (recovery === "list_marker") return job.ref === context.ref ? [{ job: { jobId: job.jobId }, match: "certain" }] : [];
      if (job.takenAtMs < earliestOf(context, sentAtMs) || job.input !== sent) return [];
      return [{ job: { jobId: job.jobId }, match: "equal" }];
    });
    return { kind: "page", candidates, next };
  },
});

/**
 * Looks up once, over all pages. The list is that of the moment of the call; `providerMs` is the provider's time, `nowMs` the
 * service's.
 */
export const lookUpOnList = async (of: {
  work: Work;
  upstream: Upstream;
  recovery: Recovery;
  claims: Claims;
  isOwned: (provider: string, jobId: string) => Promise<boolean>;
  signal: AbortSignal;
  providerMs: number;
  nowMs: () => number;
  bornMs: number;
  onlyMarked: boolean;
}): Promise<FindOutcome> => {
  const { attempt, input } = of.work;
  const { provider, endpoint, options } = attempt.route;
  const known = PROVIDERS[provider];
  if (!known) throw new Error(`no provider ${provider}`);
  const jobs: Listed[] = of.upstream
    .listed(provider)
    .map(({ jobId, ref, input: listed, takenAtMs }) => ({ jobId, ref, input: listed, takenAtMs }));
  const headers = { date: new Date(of.providerMs).toUTCString() };
  const sent = JSON.stringify((JSON.parse(attempt.request ?? "null") as { input: string }).input);
  const client = {
    adapter: listReader(provider, of.recovery, sent),
    request: async ({ url }: { url: string }) => {
      const from = Number(url.slice("list:".length));
      const next = from + PAGE < jobs.length ? String(from + PAGE) : null;
      const json = { jobs: jobs.slice(from, from + PAGE), next };
      return { kind: "answered", response: { status: 200, headers, json, text: "" } } as const;
    },
  };
  return await lookUpJob(
    client as unknown as ProviderClient,
    {
      context: { ref: attempt.ref, endpoint, options, baseUrl: "", input },
      sentAtMs: attempt.sentAtMs ?? 0,
      timeoutMs: 15_000,
      claims: of.claims,
      isOwned: of.isOwned,
      nowMs: of.nowMs,
      bornMs: of.bornMs,
      onlyMarked: of.onlyMarked,
    },
    of.signal,
  );
};
