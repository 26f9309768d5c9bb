// Reads all generations of a crash run from the store, through their holds.
import { createHash } from "node:crypto";
import type { Attempt, GenerationRecord, JsonObject, TransferKind } from "../../domain/types.ts";
import { ERASED } from "../../store/decide/erasure.ts";
import type { StoredEvent, StoreReads, TransferRow } from "../../store/store.ts";
import type { Tenant } from "./crash-fixture.ts";
import { hashOf } from "./workload.ts";

/** A transfer of the ledger for a generation. */
export type StoredTransfer = { kind: TransferKind; credits: number };

export type Stored = GenerationRecord & {
  account: number;
  key: string | null;
  /** Null if it is erased; the fingerprint of the request stays. */
  bodyHash: string | null;
  fingerprint: string | null;
  /** Whether a text of an erased generation is stored. */
  hasText: boolean;
  tries: Attempt[];
  events: StoredEvent[];
  transfers: StoredTransfer[];
  /** Orphaned attempts of the generation, by number. */
  orphans: number[];
};

const PAGE = 1000;

/** Every generation of the tenants. `account` is the position in their list. */
export const readStored = async (reads: StoreReads, tenants: readonly Tenant[]): Promise<Stored[]> => {
  const stored: Stored[] = [];
  const orphans = Map.groupBy(await reads.orphans(0), ({ generationId }) => generationId);
  for (const [account, tenant] of tenants.entries()) {
    for (let beforeSeq: number | null = null; ; ) {
      const page: TransferRow[] = await reads.transfers(tenant.accountId, beforeSeq, PAGE);
      for (const { kind, generationId } of page) {
        if (kind !== "hold" || generationId === null) continue;
        const record = await reads.findGeneration(generationId);
        if (!record) throw new Error(`the hold of ${generationId} is without its generation`);
        const { idempotencyKey: key } = record;
        const made = key === null ? undefined : await reads.generationByKey(tenant.accountSeq, key);
        const tries = await reads.attemptsOf(record.seq);
        const isErased = record.erasedAtMs !== null;
        stored.push({
          ...record,
          account,
          key,
          bodyHash: made && !isErased ? hashOf(JSON.parse(made.body) as JsonObject) : null,
          fingerprint: made?.fingerprint ?? null,
          hasText: isErased && (made?.body !== ERASED.body || tries.some(hasText)),
          tries,
          events: await reads.eventsOf(record.seq),
          orphans: (orphans.get(record.id) ?? []).map(({ n }) => n),
          transfers: (await reads.transfersOf(record.seq)).map(({ kind, credits }) => ({ kind, credits })),
        });
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      beforeSeq = last.seq;
    }
  }
  return stored;
};

/** Whether an attempt has its request or the addresses of its result. */
const hasText = ({ request, results }: Attempt): boolean => (request ?? ERASED.request) !== ERASED.request || results !== null;

type Line = { provider: string; endpoint: string; body_sha256: string };

/**
 * Whether a line of a provider's log matches the attempt's request, by provider, endpoint and bytes. The workloads of crash runs put
 * no files inside requests, whose stored form names them by hash. An erased request has no bytes, and no two attempts of a
 * generation have one route; its endpoint may continue with the kind of work.
 */
const isOf = (attempt: Attempt, { provider, endpoint, body_sha256 }: Line): boolean => {
  if (attempt.request === null || attempt.route.provider !== provider) return false;
  if (attempt.request === ERASED.request) return `${endpoint}/`.startsWith(`${attempt.route.endpoint}/`);
  const { url, body } = JSON.parse(attempt.request) as { url: string; body: JsonObject };
  // A provider identifies a kind of work by its path or by a model in the body.
  const isThere = new URL(url).pathname.includes(endpoint) || body.model === endpoint;
  return isThere && createHash("sha256").update(JSON.stringify(body)).digest("hex") === body_sha256;
};

/** The attempt of a submission in the provider's log. */
export const attemptOf = (tries: readonly Attempt[], line: Line): Attempt | undefined =>
  tries.find((attempt) => isOf(attempt, line));
