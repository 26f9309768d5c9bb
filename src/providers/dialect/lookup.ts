// Lookup of a dialect: finds a lost submission by our id or on a list.
//
// On a list, our marker or the input identifies the job.
import { holdsRef } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/types.ts";
import { earliestOf, matchInput } from "../list-match.ts";
import { detailOf, isGivenUrl } from "../parse-response.ts";
import type {
  AdapterContext,
  Candidate,
  FindOutcome,
  FindPage,
  ListedJob,
  ListPage,
  ProviderRequest,
  ProviderResponse,
} from "../port.ts";
import { type Judge, judgeOf } from "./error-rules.ts";
import { DialectError, type Scope } from "./placeholders.ts";
import { seekOf, seekWithin, textAt } from "./pointers.ts";
import { requestOf } from "./requests.ts";
import { jobNameOf } from "./responses.ts";
import type { FindTemplate } from "./schema.ts";
import { templateReading, within } from "./template.ts";

const FIND_KNOWN = ["route", "ref", "ref_uuid", "since_ms", "page"];
const SENT_KNOWN = ["input", "mapped", "route", "ref", "ref_uuid"];

type ByList = Extract<FindTemplate, { items: unknown }>;
type ById = Extract<FindTemplate, { by: "client_id" }>;

/** Time formats of providers, converted to ms. */
const TIMES = {
  iso: (word: string) => Date.parse(word),
  s: (word: string) => Number(word) * 1000,
  ms: Number,
} as const;

export type Finding = {
  find(c: AdapterContext, scope: Scope, sentAtMs: number, page: string | null): ProviderRequest;
  readFind?(r: ProviderResponse, scope: Scope): FindOutcome;
  readFindPage?(r: ProviderResponse, c: AdapterContext, scope: Scope, sentAtMs: number, page: string | null): FindPage;
  list?(c: AdapterContext, scope: Scope, sinceMs: number, page: string | null): ProviderRequest;
  readListPage?(r: ProviderResponse, sinceMs: number, page: string | null): ListPage;
};

type Listed = { items: readonly unknown[]; requested: string | null };

/**
 * For an item that is itself the input: the members that we sent. Its other members are the provider's own, and null proves
 * nothing.
 */
const ofThese = (sent: JsonObject, listed: unknown): unknown => {
  if (typeof listed !== "object" || listed === null || Array.isArray(listed)) return listed;
  return Object.fromEntries(Object.entries(listed).filter(([name, value]) => value !== null && Object.hasOwn(sent, name)));
};

/** The position of the next page. */
const nextOf = (next: ByList["next"]): ((r: ProviderResponse, listed: Listed) => string | null | undefined) => {
  if (next === undefined) return () => null;
  if ("page_from" in next)
    // A page that is not full may not be the last: some providers return fewer items than requested.
    return (_, { items, requested }) => {
      if (items.length === 0) return null;
      return String(Number(requested ?? next.page_from) + (next.step === undefined ? 1 : items.length));
    };
  const seek = seekOf("cursor" in next ? next.cursor : next.url);
  const isAddress = "url" in next;
  return (r) => {
    const word = textAt(seek(r));
    if (word === undefined || word === "") return null;
    return isAddress && !isGivenUrl(word) ? undefined : word.slice(0, 4_000);
  };
};

const byList = (template: ByList, headers: Readonly<Record<string, string>>, judge: Judge): Finding => {
  const { by, marker, input, created, sent } = template;
  if (by === "list_marker" && marker === undefined) throw new DialectError("list_marker requires marker");
  const make = within("request", () => requestOf(template.request, headers, FIND_KNOWN));
  const items = seekOf(template.items);
  const id = seekWithin(template.job_id);
  const mark = marker === undefined ? undefined : seekWithin(marker);
  const given = input === undefined ? undefined : seekWithin(input);
  const ours = sent === undefined ? undefined : within("sent", () => templateReading(sent, SENT_KNOWN));
  const made = created === undefined ? undefined : seekWithin(created.at);
  const nextRequestOf = nextOf(template.next);
  const from = template.next && "page_from" in template.next ? template.next.page_from : undefined;
  const isByAddress = template.next !== undefined && "url" in template.next;
  const isItemInput = input === "";

  const timeOf = (item: unknown): number | undefined => {
    const word = made && textAt(made(item));
    const ms = word === undefined || created === undefined ? Number.NaN : TIMES[created.in](word);
    return Number.isFinite(ms) ? ms : undefined;
  };
  const matchOf = (item: unknown, c: AdapterContext, scope: Scope): Candidate["match"] | "no" => {
    const marks = mark?.(item) ?? [];
    if (marks.length > 0) return marks.some((word) => typeof word === "string" && holdsRef(word, c.ref)) ? "certain" : "no";
    // Our jobs carry a callback URL. A job without one is as likely another client's, even with an equal input.
    const isMarkless = by === "list_marker" && c.callbackUrl !== undefined;
    const [listed] = given?.(item) ?? [];
    const own = (ours ? ours(scope) : scope.mapped) as JsonObject | undefined;
    if (own === undefined) return "possible";
    const match = matchInput(own, isItemInput ? ofThese(own, listed) : listed);
    return isMarkless && match === "equal" ? "possible" : match;
  };

  type Read = { list: readonly unknown[]; next: string | null } | { detail: string };
  const readList = (r: ProviderResponse, requested: string | null): Read => {
    const listed = items(r);
    const list = listed.length === 1 && Array.isArray(listed[0]) ? listed[0] : undefined;
    if (r.status !== 200 || list === undefined) return { detail: detailOf(r.status, judge.words(r) || "no list") };
    const next = nextRequestOf(r, { items: list, requested });
    return next === undefined ? { detail: "the list names no next page" } : { list, next };
  };
  /** Newest first: once a page reaches back past the start of the period, no later page can contain the job. */
  const nextAfter = (list: readonly unknown[], next: string | null, earliestMs: number): string | null => {
    const oldestMs = timeOf(list.at(-1));
    return template.is_newest_first === true && oldestMs !== undefined && oldestMs < earliestMs ? null : next;
  };
  const ask = (c: AdapterContext, scope: Scope, sinceMs: number, page: string | null): ProviderRequest => {
    const request = make({ ...scope, since_ms: sinceMs, page: page ?? from }, c.baseUrl);
    return page !== null && isByAddress ? { ...request, url: page } : request;
  };
  /** A list that is requested by the attempt's reference contains no jobs of other attempts. */
  const isWhole = !/\{ref/.test(JSON.stringify(template.request));

  return {
    find: (c, scope, sentAtMs, page) => ask(c, scope, earliestOf(c, sentAtMs), page),
    readFindPage: (r, c, scope, sentAtMs, requested) => {
      const read = readList(r, requested);
      if ("detail" in read) return { kind: "unclear", detail: read.detail };
      const earliestMs = earliestOf(c, sentAtMs);
      const candidates = read.list.flatMap((item): Candidate[] => {
        const jobId = jobNameOf(id(item));
        if (jobId === undefined || (timeOf(item) ?? sentAtMs) < earliestMs) return [];
        const match = matchOf(item, c, scope);
        return match === "no" ? [] : [{ job: { jobId }, match }];
      });
      return { kind: "page", candidates, next: nextAfter(read.list, read.next, earliestMs) };
    },
    ...(isWhole
      ? {
          list: ask,
          readListPage: (r: ProviderResponse, sinceMs: number, requested: string | null): ListPage => {
            const read = readList(r, requested);
            if ("detail" in read) return { kind: "unclear", detail: read.detail };
            const jobs = read.list.flatMap((item): ListedJob[] => {
              const jobId = jobNameOf(id(item));
              const madeAtMs = timeOf(item) ?? null;
              if (jobId === undefined || (madeAtMs !== null && madeAtMs < sinceMs)) return [];
              return [{ jobId, madeAtMs, marks: (mark?.(item) ?? []).filter((word) => typeof word === "string") }];
            });
            return { kind: "page", jobs, next: nextAfter(read.list, read.next, sinceMs) };
          },
        }
      : {}),
  };
};

const byId = (template: ById, headers: Readonly<Record<string, string>>, judge: Judge): Finding => {
  const make = within("request", () => requestOf(template.request, headers, FIND_KNOWN));
  const id = seekOf(template.job_id);
  const repeated = template.repeats === undefined ? undefined : seekOf(template.repeats);
  /** A response that repeats another id than ours concerns another job. */
  const isOurs = (r: ProviderResponse, { ref, ref_uuid }: Scope) => {
    const text = repeated && textAt(repeated(r));
    return text === undefined || text === ref || text === ref_uuid;
  };
  const absent = within("absent", () => judgeOf(template.absent, ["@text"]));
  return {
    find: (c, scope) => make(scope, c.baseUrl),
    readFind: (r, scope) => {
      const jobId = r.status >= 200 && r.status < 300 ? jobNameOf(id(r)) : undefined;
      if (jobId !== undefined && !isOurs(r, scope)) return { kind: "unclear", detail: "the answer is about another job" };
      if (jobId !== undefined) return { kind: "found", job: { jobId } };
      return absent.verdict(r, "asking") ? { kind: "absent" } : { kind: "unclear", detail: detailOf(r.status, judge.words(r)) };
    },
  };
};

/** @throws DialectError */
export const findingOf = (
  template: FindTemplate,
  headers: Readonly<Record<string, string>>,
  judge: Judge,
): Finding | undefined => {
  if (template.by === "none" || template.by === "key") return undefined;
  return template.by === "client_id" ? byId(template, headers, judge) : byList(template, headers, judge);
};
