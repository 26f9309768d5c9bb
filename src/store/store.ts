// Store port: commits mutations, each all or nothing, and reads stored state.
//
// Every driver passes one conformance suite.

import type { Ordered } from "../domain/delivery-check.ts";
import type { StoredRequest } from "../domain/idempotency.ts";
import type { Mutation, MutationResult } from "../domain/mutations.ts";
import type { OpenGeneration } from "../domain/transition.ts";
import type {
  Attempt,
  AttemptState,
  Caller,
  Credits,
  Failure,
  FailureClass,
  GenerationRecord,
  GenerationStatus,
  JsonObject,
  KeyScope,
  KeyTerms,
  KeyWindow,
  LedgerSide,
  PlannedRoute,
  PromptRetention,
  TransferKind,
} from "../domain/types.ts";
import type { Node, NodeReads } from "./cluster-port.ts";
import type { EndUserReads } from "./end-user-reads.ts";
import type { ErasureReads } from "./erasure-reads.ts";
import type { FileReads } from "./file-reads.ts";
import type { PurchaseReads } from "./purchase-reads.ts";
import type { UploadReads } from "./upload-reads.ts";
import type { UserReads } from "./user-reads.ts";
import type { WebhookReads } from "./webhook-reads.ts";
/** The purpose of a store: simulated (`test`) or real (`live`) providers. */
export type Mode = "test" | "live";

export type AccountRow = {
  seq: number;
  id: string;
  name: string;
  paused: boolean;
  availableCredits: Credits;
  heldCredits: Credits;
  /** Total of all captures. */
  chargedCredits: Credits;
  /** The debt after refunds or disputes that took more than the balance held. */
  owedCredits: Credits;
  inProgress: number;
  burstPerS: number | null;
  inProgressLimit: number | null;
  /** Null: the retention of the configuration. */
  promptRetentionS: PromptRetention | null;
  createdAtMs: number;
};
export type KeyRow = KeyTerms & {
  id: string;
  accountId: string;
  scope: KeyScope;
  name: string;
  start: string;
  createdAtMs: number;
  revokedAtMs: number | null;
  /** Stored at most one minute after the use. */
  lastUsedAtMs: number | null;
  /** The key that this key replaces. */
  rotatedFrom: string | null;
};
/** Spending of a key: the hold of an open generation, and the cost of an ended one. */
export type KeySpend = {
  /** Spending in the current windows, including the keys that it follows by rotation; null without limits. */
  windows: Readonly<Record<KeyWindow, Credits>> | null;
  /** Spending of this key alone: generations that ended in the last 30 days, as far as usage is rolled up, plus holds. */
  last30Credits: Credits;
};
/** The grouping of usage sums. */
export const USAGE_GROUPINGS = ["day", "model", "account", "key"] as const;
export type UsageGrouping = (typeof USAGE_GROUPINGS)[number];
/** Ended generations of a day, model, account or key with waiting times of one bucket (src/domain/calendar.ts). */
export type UsageRow = {
  /** The day since 1970, a model, or the id of an account or a key. */
  of: string | number;
  wait: number;
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
  waitMs: number;
};
/** Usage from `fromDay` to `toDay`, both inclusive. A filter that is null or absent selects all. */
export type UsageQuery = {
  fromDay: number;
  toDay: number;
  accountId: string | null;
  by: UsageGrouping;
  model?: string | null;
  keyId?: string | null;
};
export type UsageDayRow = Pick<UsageRow, "of" | "succeeded" | "failed" | "chargedCredits"> & { day: number };
/** The grouping of the outcomes of ended generations. */
export type OutcomeGrouping = "hour" | "day" | "route";
/** Ended generations with one outcome. `of`: the hour or day since 1970, or the id of the route that delivered. */
export type OutcomeRow = {
  of: string | number;
  /** `succeeded`, or the code of the error. */
  outcome: string;
  generations: number;
  chargedCredits: Credits;
  /** Cost of the providers by the plans of the generations. */
  costMicroUsd: number;
  /** Charged credits of generations whose cost is unknown. */
  uncostedCredits: Credits;
};
/**
 * The number of the newest transfer of an account, and of its running generations. A start changes the second and an end the first,
 * so neither happens without a difference.
 */
export type AccountActivity = { transferNo: number; running: number };
export type TransferRow = {
  seq: number;
  accountId: string;
  /** Position in the account's chain, from 1 without a gap. */
  chainSeq: number;
  kind: TransferKind;
  credits: Credits;
  from: LedgerSide;
  to: LedgerSide;
  generationId: string | null;
  attemptN: number | null;
  /** The request of the generation; null for transfers without a generation. */
  requestId: string | null;
  note: string | null;
  availableAfter: Credits;
  heldAfter: Credits;
  hash: string;
  atMs: number;
};
/** A generation with all of its transfers, at most three, oldest first. `prompt`: the beginning of the prompt; null after an erasure. */
export type LedgerGeneration = { id: string; model: string; prompt: string | null; transfers: TransferRow[] };
/** A stored provider credential; only the vault decrypts `sealed`. */
export type ProviderKeyRow = { account: string; id: string; sealed: string; setAtMs: number };
/** A route that an operator disabled. */
export type SwitchedOff = { routeId: string; reason: string; atMs: number };
export type StoredEvent = { version: number; atMs: number; event: JsonObject & { type: string }; stateAfter: string };
/**
 * An attempt that a provider may have billed but no customer was charged for. `late`: delivered after another delivery or after
 * the end. `mismatched`: the delivery differs from the order. `unusable`: the result could not be downloaded or parsed.
 * `unknown`: the outcome was never established.
 */
export type OrphanRow = {
  generationId: string;
  n: number;
  accountId: string;
  routeId: string;
  provider: string;
  endpoint: string;
  /** The reference that the provider received. If no job id is stored, an operator finds the job by it. */
  ref: string;
  jobId: string | null;
  fate: "late" | "mismatched" | "unusable" | "unknown";
  state: AttemptState;
  priceCredits: Credits;
  sentAtMs: number;
  endedAtMs: number | null;
  /** The provider is still polled, until `watchUntilMs`. */
  isWatched: boolean;
  watchUntilMs: number | null;
  /** Status of the generation. */
  status: GenerationStatus;
  failure: Failure | null;
};
/** An attempt that was sent to a provider, for the reconciliation with the provider's records. */
export type SentRow = Pick<
  OrphanRow,
  "generationId" | "n" | "accountId" | "routeId" | "endpoint" | "ref" | "jobId" | "state" | "priceCredits" | "sentAtMs"
> & {
  options: JsonObject;
};
/** Transfers summed in order up to `upToSeq`: top-ups plus adjustments, and captures. */
export type LedgerCheckpoint = { upToSeq: number; putCredits: Credits; capturedCredits: Credits };
/**
 * Sums over one state of the ledger. `isWhole`: every transfer is included. Only then the sums of all balances and of the holds
 * of open generations are valid.
 */
export type LedgerTotals = LedgerCheckpoint & {
  isWhole: boolean;
  balances: Pick<AccountRow, "availableCredits" | "heldCredits" | "chargedCredits">;
  openReservedCredits: Credits;
};
/**
 * Filter of an account list, newest first. `text`: part of a name or an id; empty for all. `beforeSeq`: the account after which
 * the page starts; null for the newest.
 */
export type AccountSearch = { text: string; standing: "all" | "paused" | "owing" | "busy"; beforeSeq: number | null };
/** Results of recent attempts by route, state and failure class. */
export type RouteResults = { routeId: string; state: AttemptState; failure: FailureClass | null; count: number };
/** A parked generation that waits for an operator. `reason`: the message of the store. */
export type ParkedRow = { id: string; accountId: string; model: string; reservedCredits: Credits; reason: string } & ParkedAt;
type ParkedAt = { createdAtMs: number; parkedAtMs: number };
/**
 * The result of one of the thirteen invariants, with at most 20 violating rows as JSON. `note`: rows that were skipped without
 * being violations.
 */
export type CheckResult = { invariant: number; name: string; ok: boolean; offending: JsonObject[]; note?: string };

/** Sums over all accounts in whole credits; `moved` by kind of transfer, where credits taken from an account are negative. */
export type LedgerSums = {
  available: number;
  held: number;
  charged: number;
  owed: number;
  /** Number of transfers; the name in the manifests of backups. */
  movements: number;
  moved: Record<string, number>;
};
/** Full scans of a large database, in separate threads so that the service is not blocked. */
export type LongReads = {
  verify(nowMs: number, report: (done: number, of: number, soFar: CheckResult[]) => void): Promise<CheckResult[]>;
  sums(): Promise<LedgerSums>;
  orphans: StoreReads["orphans"];
};

/** Filter of a generation list; null: all. `fromMs` is inclusive, `toMs` is exclusive. */
export type GenerationsQuery = {
  accountSeq: number | null;
  fromMs: number | null;
  toMs: number | null;
  status: GenerationStatus | null;
  models: readonly string[] | null;
  /** The id of a key; `playground`: the playground keys. */
  keyId: string | null;
  /** Metadata that a generation must have, as `[name, value]`; absent: any. */
  metadata?: readonly (readonly [name: string, value: string])[];
  /** The end user, of an account; absent: any. */
  endUser?: string | null;
  /** `next` of the previous step; null at the beginning. */
  from: number | null;
  /** The row number of the generation after which the list begins, if `from` is null. */
  afterSeq?: number;
  /** False if the excerpts of the prompts are not read; they are null then. */
  withPrompts?: boolean;
  /** Maximum number of results, and in `looks` the maximum number of rows to read for them. */
  limit: number;
  maxExamined: number;
};

/** The key of a generation; `isPlayground`: the hidden playground key. */
export type SubmittingKey = { id: string; name: string; start: string; isPlayground: boolean };
/** `prompt`: the beginning of the prompt. */
export type ListedGeneration = { record: GenerationRecord; accountId: string; key: SubmittingKey; prompt: string | null };
/** `next`: the start of the next step; null at the end. */
export type GenerationsStep = { found: ListedGeneration[]; examined: number; next: number | null };

/** All reads of the store. Every method can be called while another process writes. */
export interface StoreReads extends EndUserReads, ErasureReads, FileReads, PurchaseReads, UploadReads, UserReads, WebhookReads {
  /** Reads about the nodes of a shared store; null with a single writing process. */
  nodes: NodeReads | null;
  callerByKeyHash(hash: string): Promise<Caller | undefined>;
  generationById(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** Includes the submission as sent. */
  generationByKey(
    accountSeq: number,
    idempotencyKey: string,
  ): Promise<({ record: GenerationRecord } & StoredRequest) | undefined>;
  /** The generation of a signed link, for any account. */
  generationBySeq(seq: number): Promise<GenerationRecord | undefined>;
  inputOf(seq: number): Promise<{ raw: JsonObject; filled: JsonObject } | undefined>;
  /** The expected delivery; null for a generation that an older release accepted. */
  orderedOf(seq: number): Promise<Ordered | null>;
  attempt(seq: number, n: number): Promise<Attempt | undefined>;
  attemptsOf(seq: number): Promise<Attempt[]>;
  eventsOf(seq: number): Promise<StoredEvent[]>;
  snapshotOf(seq: number): Promise<{ version: number; snapshot: string } | undefined>;
  /** The plan of the submission, which is kept after the end: routes in order, and the time after which no attempt begins. */
  planOf(seq: number): Promise<{ plan: readonly PlannedRoute[]; waitEndsAtMs: number } | undefined>;
  /** Open generations by row number after `afterSeq`; at most `limit`. */
  unfinished(afterSeq: number, limit: number): Promise<OpenGeneration[]>;
  /** Attempts of ended generations that are still polled. */
  watchedAttempts(afterSeq: number, limit: number): Promise<Attempt[]>;
  /** Attempts that were sent to a provider at or after a time, oldest first. */
  sentTo(provider: string, sinceMs: number): Promise<SentRow[]>;
  /**
   * Orphans that were sent at or after a time, newest first. `submittedSinceMs`: only of generations submitted since then, which
   * reads no attempts of earlier ones.
   */
  orphans(sinceMs: number, submittedSinceMs?: number): Promise<OrphanRow[]>;
  /** Times from submission to delivery in milliseconds, newest last; at most `limit` for each route. */
  recentDeliveries(limit: number): Promise<Map<string, number[]>>;
  routeHealth(): Promise<Map<string, string>>;
  switchedOff(): Promise<SwitchedOff[]>;
  providerKeys(): Promise<ProviderKeyRow[]>;
  /** The attempt that owns a provider job, so that a job is never assigned twice. */
  jobOwner(provider: string, jobId: string): Promise<{ seq: number; n: number } | undefined>;
  accounts(): Promise<AccountRow[]>;
  account(id: string): Promise<AccountRow | undefined>;
  /** At most `limit`. */
  searchAccounts(search: AccountSearch, limit: number): Promise<AccountRow[]>;
  /** Results of the last `limit` attempts over all routes. */
  lastOutcomes(limit: number): Promise<RouteResults[]>;
  /** The last change of each route's circuit breaker, in milliseconds. */
  healthChangedAt(): Promise<Map<string, number>>;
  /** Row numbers of accounts with a debt and available credits; at most `limit`. */
  unsettledDebts(limit: number): Promise<number[]>;
  /** Oldest first. */
  parked(limit: number): Promise<ParkedRow[]>;
  key(id: string): Promise<KeyRow | undefined>;
  keys(accountId?: string): Promise<KeyRow[]>;
  /** By key id, for one account or all. */
  keySpend(nowMs: number, accountId?: string): Promise<Map<string, KeySpend>>;
  /** Spending of one key in the current windows, as in `keySpend`; null without limits. */
  keyWindows(keyId: string, nowMs: number): Promise<KeySpend["windows"]>;
  /** Usage of generations that ended from `fromDay` to `toDay`, both inclusive, as far as it is rolled up. */
  usage(query: UsageQuery): Promise<UsageRow[]>;
  /** The same usage of some days, models, accounts or keys by day. */
  usageByDay(query: UsageQuery, of: readonly string[]): Promise<UsageDayRow[]>;
  /** Generations that ended from `fromHour` to `toHour` (hours since 1970), both inclusive, as far as usage is rolled up. */
  outcomes(query: { fromHour: number; toHour: number; by: OutcomeGrouping }): Promise<OutcomeRow[]>;
  /** Number of transfers that are not rolled up yet. */
  usageBehind(): Promise<number>;
  /** Transfers of an account before `beforeSeq` (null: all), newest first; at most `limit`. */
  transfers(accountId: string, beforeSeq: number | null, limit: number): Promise<TransferRow[]>;
  transfersOf(generationSeq: number): Promise<TransferRow[]>;
  /** Some generations with their transfers, by id. */
  ledgerGenerations(seqs: readonly number[]): Promise<Map<string, LedgerGeneration>>;
  /** Open generations by row number after `afterSeq`; at most `limit`. */
  openGenerations(
    afterSeq: number,
    limit: number,
  ): Promise<{ seq: number; status: "queued" | "running"; model: string; reservedCredits: Credits; createdAtMs: number }[]>;
  /** Adds up to `limit` further transfers to the previous sums. */
  ledgerTotals(before: LedgerCheckpoint, limit: number): Promise<LedgerTotals>;
  /** One step through a list of generations, newest first. `looks` bounds its cost for any number of rows. */
  generationsStep(query: GenerationsQuery): Promise<GenerationsStep>;
  /** Row numbers of those of some generations that have ended. */
  endedAmong(seqs: readonly number[]): Promise<number[]>;
  /** The versions of some generations: the number of their stored events, by row number. */
  versionsAmong(seqs: readonly number[]): Promise<Map<number, number>>;
  /** How far some accounts are, by row number, in one query. */
  activityAmong(accountSeqs: readonly number[]): Promise<Map<number, AccountActivity>>;
  /** A generation by id for any account; for the operator. */
  findGeneration(
    id: string,
  ): Promise<(GenerationRecord & { accountId: string; key: SubmittingKey; idempotencyKey: string | null }) | undefined>;
  /** The highest time that any process stored. */
  lastSeenMs(): Promise<number>;
  /**
   * The backup that this store was restored from; null if it was not restored. `takenAtMs`: the time of the backup. `upToSeq`:
   * its last generation. `isSettled`: an operator has settled the gap after it.
   */
  restored(): Promise<{ takenAtMs: number; upToSeq: number; isSettled: boolean } | null>;
  /** The progress note of the last recovery; null if none was stored. */
  recoveryNote(): Promise<string | null>;
  /** Persistent random bytes by name (signed links, for example), in hex. */
  secret(name: string): Promise<string>;
  mode(): Promise<Mode>;
  /**
   * Checks the thirteen invariants. `nowMs` null: the service is not running, so overdue deadlines are not checked.
   * @param onProgress Called with the progress and the completed invariants during a long check.
   */
  verify(nowMs: number | null, onProgress?: (done: number, of: number, soFar: CheckResult[]) => void): Promise<CheckResult[]>;
  close(): Promise<void>;
}

/** The single writer of a store, or one node of a shared store. */
export interface Store extends StoreReads {
  /** Null with a single writing process. */
  node: Node | null;
  /** The highest row number of a generation at the opening; 0 if there is none. */
  newestGeneration: number;
  /**
   * Commits the mutations in order in one transaction, each in its own savepoint, and returns after the commit.
   * @throws StoreFull Nothing was written; a retry is safe.
   * @throws StoreUnknown The outcome is unknown; the process must exit.
   */
  commit(mutations: readonly Mutation[]): Promise<MutationResult[]>;
}
