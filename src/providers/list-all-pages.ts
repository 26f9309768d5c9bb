// List reader: reads all pages of a provider's lists for given routes.
//
// The result contains every job since a time, including jobs of other clients of the account.

import { readOptions } from "./map-input.ts";
import type { AdapterContext, ListedJob, ListedRoute, ListOutcome } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** A list with more pages counts as incomplete: a hundred thousand jobs at a hundred on each page. */
const MAX_PAGES = 1_000;

/** A route has one endpoint for each of its input modes. */
export const contextsOf = (route: ListedRoute, baseUrl: string): AdapterContext[] => {
  const modes = readOptions(route).endpoints ?? [];
  const inputs = [...modes.map(({ when }) => Object.fromEntries(when.map((field) => [field, ""]))), {}];
  return inputs.map((filled) => ({ ...route, ref: "", baseUrl, input: { raw: {}, filled } }));
};

/** @param timeoutMs for one page */
export const listAllPages = async (
  client: ProviderClient,
  routes: readonly ListedRoute[],
  { sinceMs, timeoutMs }: { sinceMs: number; timeoutMs: number },
  signal: AbortSignal,
): Promise<ListOutcome> => {
  const { adapter, baseUrl } = client;
  if (!adapter.list || !adapter.readListPage) return { kind: "none" };
  const jobs = new Map<string, ListedJob>();
  const requested = new Set<string>();
  for (const context of routes.flatMap((route) => contextsOf(route, baseUrl))) {
    let page: string | null = null;
    for (let pages = 0; ; pages += 1) {
      const request = adapter.list(context, sinceMs, page);
      const words = JSON.stringify(request);
      // Routes share endpoints, and some lists cover all endpoints.
      if (requested.has(words)) break;
      requested.add(words);
      const called = await client.request(request, timeoutMs, signal);
      if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
      const read = adapter.readListPage(called.response, context, sinceMs, page);
      if (read.kind === "unclear") return read;
      for (const job of read.jobs) jobs.set(job.jobId, job);
      page = read.next;
      if (page === null) break;
      if (pages >= MAX_PAGES) return { kind: "unclear", detail: `the list has more than ${MAX_PAGES} pages` };
    }
  }
  return { kind: "listed", jobs: [...jobs.values()] };
};
