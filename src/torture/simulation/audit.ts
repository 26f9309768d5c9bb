// Audit of a world: compares client logs, provider jobs and database.
//
// It trusts none of the three.

import type { GenerationRecord } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import { auditClip } from "./audit-clips.ts";
import { auditJobs } from "./audit-jobs.ts";
import type { ClientLog, ReceivedResponse, Seen } from "./clients.ts";
import type { Clips } from "./clips.ts";
import { PROVIDERS, priceIn } from "./market.ts";
import { fileNameOf, type StoredFiles, sharedName } from "./media.ts";
import { END_USER_LIMIT_CREDITS, LIMITED_END_USER } from "./seed-database.ts";
import type { Upstream, UpstreamJob } from "./upstream.ts";

export type Evidence = {
  notebook: ClientLog;
  upstream: Upstream;
  reads: StoreReads;
  accountSeqs: readonly number[];
  kept: StoredFiles;
  clips: Clips;
};

const RANK = { queued: 0, running: 1, succeeded: 2, failed: 2 } as const;
/** A record without what an erasure changes. */
const unerased = ({ erasedAtMs: _, filesExpiredAtMs: __, labels: ___, ...record }: GenerationRecord) => record;
/**
 * The views of one generation by its clients. Two responses are compared if the second request was sent after the first response
 * arrived. Within one millisecond the order is unknown.
 */
const auditViews = (id: string, seen: readonly Seen[]): string[] => {
  const faults: string[] = [];
  for (const { record: view, requestedAtMs } of seen) {
    const before = seen.findLast(({ receivedAtMs }) => receivedAtMs < requestedAtMs)?.record;
    if (view.status === "succeeded" ? view.costCredits === null || !view.output || view.error : view.output)
      faults.push(`${id}: ${view.status} does not fit its output, cost or error`);
    if (view.status === "failed" && (view.costCredits !== 0 || !view.error))
      faults.push(`${id}: failed at a cost, or without an error`);
    if (!before) continue;
    if (RANK[view.status] < RANK[before.status]) faults.push(`${id}: went from ${before.status} back to ${view.status}`);
    if (view.attempts < before.attempts) faults.push(`${id}: attempts fell from ${before.attempts} to ${view.attempts}`);
    if (before.completedAtMs !== null && JSON.stringify(unerased(view)) !== JSON.stringify(unerased(before)))
      faults.push(`${id}: changed after its end`);
    if (before.erasedAtMs !== null && view.erasedAtMs !== before.erasedAtMs) faults.push(`${id}: its erasure changed`);
    if (view.quotedCredits !== before.quotedCredits || view.reservedCredits !== before.reservedCredits)
      faults.push(`${id}: its quote or its reserve changed`);
  }
  return faults;
};

/** All responses with an id under one key have the same id and the same body. */
const auditKeys = ({ heard: received, sent }: ClientLog): string[] => {
  const faults: string[] = [];
  const byKey = new Map<string, ReceivedResponse>();
  const byId = new Map<string, ReceivedResponse>();
  for (const one of received) {
    if (!one.accepted) continue;
    const first = byId.get(one.accepted.id);
    if (first && (first.body !== one.body || first.planned.account !== one.planned.account))
      faults.push(`${one.accepted.id}: answered to two different requests`);
    byId.set(one.accepted.id, first ?? one);
    if (one.replayed && one.planned.key === null) faults.push(`${one.accepted.id}: replayed without a key`);
    if (one.planned.key === null) {
      if (first) faults.push(`${one.accepted.id}: one generation for two requests without a key`);
      continue;
    }
    const key = `${one.planned.account} ${one.planned.key}`;
    const known = byKey.get(key);
    if (known?.accepted && known.accepted.id !== one.accepted.id)
      faults.push(`key ${key}: made ${known.accepted.id} and ${one.accepted.id}`);
    if (known && known.body !== one.body) faults.push(`key ${key}: accepted with two bodies`);
    byKey.set(key, known ?? one);
  }
  for (const one of received) {
    if (one.refused !== "idempotency_conflict") continue;
    const key = `${one.planned.account} ${one.planned.key}`;
    const others = [...(sent.get(key) ?? [])].filter((body) => body !== one.body);
    if (others.length === 0 || byKey.get(key)?.body === one.body)
      faults.push(`${one.planned.name}: a conflict over key ${one.planned.key}, which made nothing with another body`);
  }
  return faults;
};

/** Quote, hold and cost are prices of a catalogue that was current during the client's request. */
const auditPrice = (received: ReceivedResponse, end: GenerationRecord, jobs: ReadonlyMap<string, UpstreamJob>): string[] => {
  const { planned } = received;
  const pricesOf = (routeId: string) => received.catalogues.map((catalogue) => priceIn(catalogue, routeId));
  const offered = received.catalogues.flatMap((catalogue) =>
    (catalogue.model(planned.model)?.routes ?? []).map((route) => priceIn(catalogue, route.id)),
  );
  const faults: string[] = [];
  if (!offered.includes(end.quotedCredits)) faults.push(`${end.id}: quoted ${end.quotedCredits}, which no route cost`);
  if (!offered.includes(end.reservedCredits)) faults.push(`${end.id}: reserved ${end.reservedCredits}, which no route cost`);
  if (end.reservedCredits > planned.maxCostCredits) faults.push(`${end.id}: reserved more than max_cost_usd`);
  if (end.status !== "succeeded") return faults;
  const job = jobs.get(end.output?.files[0]?.sha256 ?? "");
  if (!job) return [...faults, `${end.id}: delivered a file that no provider made`];
  if (job.wrong) faults.push(`${end.id}: charged for ${job.jobId}, which is ${job.wrong}, not what was ordered`);
  const isOwn = job.ref.startsWith(`${end.id.slice("gen_".length)}-`);
  // Equal inputs on a list cannot be distinguished, so one generation can receive the job of another.
  const isDuplicate = PROVIDERS[job.provider]?.recovery === "list_match" && job.input === JSON.stringify(planned.prompt);
  if (!isOwn && !isDuplicate) faults.push(`${end.id}: delivered the file of ${job.ref}`);
  if (!pricesOf(`${planned.model}/${job.provider}`).includes(end.costCredits ?? -1))
    faults.push(
      `${end.id}: charged ${end.costCredits} for ${job.provider}, which cost ${pricesOf(`${planned.model}/${job.provider}`).join(" or ")}`,
    );
  return faults;
};

/** Computes balances from client responses alone, and compares them with the database. */
const auditMoney = async (
  { notebook, reads, accountSeqs }: Evidence,
  ends: ReadonlyMap<string, GenerationRecord>,
): Promise<string[]> => {
  const faults: string[] = [];
  const accounts = new Map((await reads.accounts()).map((account) => [account.seq, account]));
  for (const [at, seq] of accountSeqs.entries()) {
    const account = accounts.get(seq);
    if (!account) {
      faults.push(`account ${at}: gone`);
      continue;
    }
    let charged = 0;
    for (const end of ends.values()) if (end.accountSeq === seq) charged += end.costCredits ?? 0;
    const given = notebook.given[at] ?? 0;
    const { availableCredits, heldCredits, chargedCredits, inProgress } = account;
    if (chargedCredits !== charged) faults.push(`account ${at}: charged ${chargedCredits}, its generations cost ${charged}`);
    if (availableCredits + heldCredits + chargedCredits !== given)
      faults.push(`account ${at}: ${availableCredits} + ${heldCredits} + ${chargedCredits} is not the ${given} it was given`);
    if (heldCredits !== 0 || inProgress !== 0)
      faults.push(`account ${at}: ${heldCredits} credits held and ${inProgress} in progress at the end`);
  }
  return faults;
};

/** The stored days of each end user equal its generations, and the limit was never exceeded. */
const auditEndUsers = async (
  { reads, accountSeqs }: Evidence,
  ends: ReadonlyMap<string, GenerationRecord>,
): Promise<string[]> => {
  const faults: string[] = [];
  for (const [at, accountSeq] of accountSeqs.entries()) {
    // The counts of erased generations stay, and their end users are unknown.
    const isErased = [...ends.values()].some((end) => end.accountSeq === accountSeq && end.erasedAtMs !== null);
    for (const { name, spentCredits, heldCredits } of await reads.endUsers(accountSeq, 0, null, 100)) {
      const own = [...ends.values()].filter((end) => end.accountSeq === accountSeq && end.labels?.endUser === name);
      const cost = own.reduce((sum, { costCredits }) => sum + (costCredits ?? 0), 0);
      if (spentCredits < cost || (spentCredits > cost && !isErased) || heldCredits !== 0)
        faults.push(
          `account ${at}: end user ${name} has spent ${spentCredits} and holds ${heldCredits}, its generations cost ${cost}`,
        );
      const most = Math.max(cost, spentCredits);
      if (name === LIMITED_END_USER && most > END_USER_LIMIT_CREDITS)
        faults.push(`account ${at}: end user ${name} has spent ${most}, more than its limit`);
    }
  }
  return faults;
};

/** @param ends every generation of the database as the API returns it at the end, by id. */
export const audit = async (evidence: Evidence, ends: ReadonlyMap<string, GenerationRecord>): Promise<string[]> => {
  const { notebook, upstream } = evidence;
  const faults = auditKeys(notebook);
  const jobs = new Map(upstream.jobs.map((job) => [fileNameOf(job.provider, job.jobId), job]));
  for (const [id, seen] of notebook.seen) {
    const end = ends.get(id);
    if (!end) faults.push(`${id}: acknowledged, and not there`);
    else
      faults.push(
        ...auditViews(id, [...seen, { requestedAtMs: Number.MAX_VALUE, receivedAtMs: Number.POSITIVE_INFINITY, record: end }]),
      );
  }
  for (const received of notebook.heard) {
    const end = received.accepted && ends.get(received.accepted.id);
    if (end && !received.replayed) faults.push(...auditPrice(received, end, jobs), ...auditClip(received.planned, end, evidence));
  }
  for (const { id, status, output } of ends.values()) {
    const charged = output?.files[0]?.sha256 ?? "";
    const kept = evidence.kept.get(sharedName(id, charged)) ?? evidence.kept.get(id);
    if (status === "succeeded" && kept !== charged) faults.push(`${id}: the file that is kept is not the one it was charged for`);
  }
  for (const end of ends.values()) if (end.completedAtMs === null) faults.push(`${end.id}: still ${end.status} long after peace`);
  faults.push(...(await auditJobs(evidence)), ...(await auditMoney(evidence, ends)), ...(await auditEndUsers(evidence, ends)));
  return faults;
};
