// Property of the job lookup: from a paged list with differing clocks, only a certain result is found or absent.
import fc from "fast-check";
import { createJobClaims } from "../../src/providers/job-claims.ts";
import { lookUpJob } from "../../src/providers/job-lookup.ts";
import { CLOCK_SLACK_MS } from "../../src/providers/list-match.ts";
import type { FindOutcome } from "../../src/providers/port.ts";
import type { ProviderClient } from "../../src/providers/provider-client.ts";
import type { Property } from "./property.ts";

type Entry = { match: "certain" | "equal" | "possible"; isAnothers: boolean };
/** `apartMs`: the offset of the provider's clock in this response; null without a Date header. */
type Page = { entries: Entry[]; apartMs: number | null; isWhole: boolean };

const NOW_MS = 1_790_000_000_000;
const entries = fc.array(
  fc.record({ match: fc.constantFrom<Entry["match"]>("certain", "equal", "equal", "possible"), isAnothers: fc.boolean() }),
  { maxLength: 2 },
);
/** Whole seconds, as in a Date header. */
const apartMs = fc.constantFrom(null, 0, 0, 0, CLOCK_SLACK_MS / 2, -CLOCK_SLACK_MS / 2, CLOCK_SLACK_MS / 2 + 1000, -3_600_000);
const pages = fc.array(fc.record({ entries, apartMs, isWhole: fc.constantFrom(true, true, true, true, false) }), {
  minLength: 1,
  maxLength: 4,
});

const isFar = ({ apartMs: ms }: Page) => ms !== null && Math.abs(ms) > CLOCK_SLACK_MS / 2;

/** The result that such a list proves: `found 3`, `absent`, or `unclear`. */
const proofOf = (list: readonly Page[]): string => {
  const seen: { id: number; entry: Entry }[] = [];
  let id = 0;
  let hasBeenFar = false;
  for (const page of list) {
    if (!page.isWhole) return "unclear";
    hasBeenFar ||= isFar(page);
    for (const entry of page.entries) {
      id += 1;
      if (entry.match === "certain" || (!entry.isAnothers && !hasBeenFar)) seen.push({ id, entry });
    }
    const sure = seen.find(({ entry }) => entry.match === "certain");
    if (sure) return `found ${sure.id}`;
  }
  // Equal entries count only if the list was certainly requested for the right time.
  if (hasBeenFar && seen.every(({ entry }) => entry.match !== "equal")) return "unclear";
  const equal = seen.filter(({ entry }) => entry.match === "equal");
  if (equal.length === 1) return `found ${equal[0]?.id}`;
  return seen.length === 0 ? "absent" : "unclear";
};

const playList = async (list: readonly Page[]): Promise<void> => {
  const ids = list.map((_, at) => list.slice(0, at).reduce((sum, { entries: before }) => sum + before.length, 0) + 1);
  const owned = new Set<string>();
  list.forEach((page, at) => {
    page.entries.forEach(({ match, isAnothers }, n) => {
      if (isAnothers && match !== "certain") owned.add(String((ids[at] ?? 0) + n));
    });
  });
  const client = {
    adapter: {
      id: "p",
      find: (_: unknown, __: number, page: string | null) => Number(page ?? 0),
      readFindPage: ({ json }: { json: number }) => {
        const page = list[json];
        if (!page?.isWhole) return { kind: "unclear", detail: "not a list" };
        const candidates = page.entries.map(({ match }, n) => ({ match, job: { jobId: String((ids[json] ?? 0) + n) } }));
        return { kind: "page", candidates, next: json + 1 < list.length ? String(json + 1) : null };
      },
    },
    request: async (at: number) => {
      const apart = list[at]?.apartMs ?? null;
      const headers = apart === null ? {} : { date: new Date(NOW_MS + apart).toUTCString() };
      return { kind: "answered", response: { status: 200, headers, json: at, text: "" } };
    },
  };
  const outcome: FindOutcome = await lookUpJob(
    client as unknown as ProviderClient,
    {
      context: { ref: "ref-1", endpoint: "", options: {}, baseUrl: "", input: { raw: {}, filled: {} } },
      ...{ sentAtMs: NOW_MS - 1000, timeoutMs: 60_000, claims: createJobClaims() },
      isOwned: async (_, jobId) => owned.has(jobId),
      bornMs: 0,
      onlyMarked: false,
      nowMs: () => NOW_MS,
    },
    new AbortController().signal,
  );
  const reported = outcome.kind === "found" ? `found ${outcome.job.jobId}` : outcome.kind;
  const proof = proofOf(list);
  if (reported !== proof) throw new Error(`it is ${JSON.stringify(outcome)}, not ${proof}`);
};

export const lookUpProperty: Property<Page[]> = {
  name: "look-up",
  says: "reports a job as found or absent only from a complete, unambiguous list that was requested for the right time",
  runsOf: (runs) => runs,
  arbitrary: pages,
  open: () => ({ play: playList }),
};
