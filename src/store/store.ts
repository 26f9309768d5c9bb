// The store port: mutations in, facts out; each mutation is all or nothing, and every driver passes one conformance suite.

import type { Ordered } from "../domain/delivery-check.ts";
import type { FingerprintedRequest } from "../domain/idempotency.ts";
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
  TransferKind,
} from "../domain/types.ts";
import type { Node, NodeReads } from "./cluster-port.ts";
import type { FileReads } from "./file-reads.ts";
import type { Mutation, MutationResult, OpenGeneration } from "./mutations.ts";
import type { PurchaseReads } from "./purchase-reads.ts";
import type { PeopleReads } from "./user-reads.ts";
/** What a store was made for: the simulator (`test`) or money (`live`). */
export type Mode = "test" | "live";

export type AccountRow = {
  seq: number;
  id: string;
  name: string;
  paused: boolean;
  availableCredits: Credits;
  heldCredits: Credits;
  /** Everything ever captured. */
  chargedCredits: Credits;
  /** Taken back by a refund or dispute but not there to take. */
  owedCredits: Credits;
  inProgress: number;
  burstPerS: number | null;
  inProgressLimit: number | null;
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
  /** Noted a minute after it was used at the latest. */
  lastUsedAtMs: number | null;
  /** The key that it takes the place of. */
  rotatedFrom: string | null;
};
/** What a key has spent: held while a generation is open, its cost once it has ended. */
export type KeySpend = {
  /** With the keys it follows, in the windows that a time is in; null where it has no limits. */
  windows: Readonly<Record<KeyWindow, Credits>> | null;
  /** By itself: what ended in the last 30 days, as far as usage is rolled up, and what is held. */
  last30Credits: Credits;
};
/** What a sum of usage is told for. */
export const USAGE_BY = ["day", "model", "account", "key"] as const;
export type UsageBy = (typeof USAGE_BY)[number];
/** Generations of a day, model, account or key that ended after waiting times of one bucket (src/domain/calendar.ts). */
export type UsageRow = {
  /** The day since 1970, a model, or the id of an account or a key. */
  of: string | number;
  wait: number;
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
  waitMs: number;
};
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
  /** The request that made the generation; null for movements without one. */
  requestId: string | null;
  note: string | null;
  availableAfter: Credits;
  heldAfter: Credits;
  hash: string;
  atMs: number;
};
/** A provider's credential as it is kept: `sealed` is opened by the vault alone. */
export type ProviderKeyRow = { account: string; id: string; sealed: string; setAtMs: number };
/** A route that the operator has switched off. */
export type SwitchedOff = { routeId: string; reason: string; atMs: number };
export type JournalLine = { version: number; atMs: number; event: JsonObject & { type: string }; stateAfter: string };
/**
 * An attempt that may have been paid and that nobody was charged for. `late`: it delivered when it was no longer wanted;
 * `mismatched`: it delivered something else than what was ordered; `unusable`: it delivered what could not be had or read; `unknown`: what became of it was never learnt.
 */
export type OrphanRow = {
  generationId: string;
  n: number;
  accountId: string;
  routeId: string;
  provider: string;
  endpoint: string;
  /** What the provider was sent as our reference; an operator finds the job by it where it has no id here. */
  ref: string;
  jobId: string | null;
  fate: "late" | "mismatched" | "unusable" | "unknown";
  state: AttemptState;
  priceCredits: Credits;
  sentAtMs: number;
  endedAtMs: number | null;
  /** The provider is still asked about it, until then. */
  isWatched: boolean;
  watchUntilMs: number | null;
  /** Of its generation. */
  status: GenerationStatus;
  failure: Failure | null;
};
/** An attempt that was sent to a provider, as far as the provider's books are held against it. */
export type SentRow = Pick<
  OrphanRow,
  "generationId" | "n" | "accountId" | "routeId" | "endpoint" | "ref" | "jobId" | "state" | "priceCredits" | "sentAtMs"
> & {
  options: JsonObject;
};
/** Movements that were added up, in their order, up to one of them: all that was put in or taken out again, and all captures. */
export type SummedUp = { upToSeq: number; putCredits: Credits; capturedCredits: Credits };
/**
 * Sums of one state of the books. `isWhole`: every movement is in them; only then the sums of all balances, and of what generations
 * that have not ended reserved, are of use.
 */
export type LedgerTotals = SummedUp & {
  isWhole: boolean;
  balances: Pick<AccountRow, "availableCredits" | "heldCredits" | "chargedCredits">;
  openReservedCredits: Credits;
};
/** Which accounts, newest first: those of a text in name or id (empty: all) that stand as asked, before one of them (null: from the newest). */
export type AccountSearch = { text: string; standing: "all" | "paused" | "owing" | "busy"; beforeSeq: number | null };
/** What came of the last attempts, by route, state and the class of their failure. */
export type RouteResults = { routeId: string; state: AttemptState; failure: FailureClass | null; count: number };
/** A generation that cannot go on by itself and waits for an operator. `reason`: what the store said. */
export type ParkedRow = { id: string; accountId: string; model: string; reservedCredits: Credits; reason: string } & ParkedAt;
type ParkedAt = { createdAtMs: number; parkedAtMs: number };
/** One of the thirteen invariants, checked: the rows that offend, at most 20, as JSON. `note`: what was left out, and is no fault. */
export type CheckResult = { invariant: number; name: string; ok: boolean; offending: JsonObject[]; note?: string };

/** Sums over every account, whole credits; `moved` by kind of movement, what was taken from an account below zero. */
export type LedgerSums = {
  available: number;
  held: number;
  charged: number;
  owed: number;
  movements: number;
  moved: Record<string, number>;
};
/** Reads that go through all of a large database: on threads of their own, so that nothing of the service waits for them. */
export type LongReads = {
  verify(nowMs: number, tell: (done: number, of: number, soFar: CheckResult[]) => void): Promise<CheckResult[]>;
  sums(): Promise<LedgerSums>;
  orphans(sinceMs: number): Promise<OrphanRow[]>;
};

/** Which generations a list is of. Null: all. `fromMs` is in it, `toMs` is not. */
export type GenerationsQuery = {
  accountSeq: number | null;
  fromMs: number | null;
  toMs: number | null;
  status: GenerationStatus | null;
  models: readonly string[] | null;
  /** A key's id; `playground`: those that playgrounds make with. */
  keyId: string | null;
  /** `next` of the step before; null at the beginning. */
  from: number | null;
  /** How many are wanted, and how many rows are looked at for them at most. */
  limit: number;
  looks: number;
};

/** The key that made a generation; `isPlayground`: the hidden one, which nobody holds. */
export type MakingKey = { id: string; name: string; start: string; isPlayground: boolean };
/** `prompt`: its beginning. */
export type ListedGeneration = { record: GenerationRecord; accountId: string; key: MakingKey; prompt: string | null };
/** `next`: where to go on; null when there is no more. */
export type GenerationsStep = { found: ListedGeneration[]; looked: number; next: number | null };

/** Everything that may be read. All methods may be called while another process writes. */
export interface StoreReads extends FileReads, PurchaseReads, PeopleReads {
  /** The nodes that share it; null where one process alone writes. */
  nodes: NodeReads | null;
  callerByKeyHash(hash: string): Promise<Caller | undefined>;
  generationById(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** With the request that made it, as it was sent. */
  generationByKey(
    accountSeq: number,
    idempotencyKey: string,
  ): Promise<({ record: GenerationRecord } & FingerprintedRequest) | undefined>;
  /** The generation behind a signed link, whatever the account. */
  generationBySeq(seq: number): Promise<GenerationRecord | undefined>;
  inputOf(seq: number): Promise<{ raw: JsonObject; filled: JsonObject } | undefined>;
  /** What is to be delivered; null for a generation that was accepted before that was kept. */
  orderedOf(seq: number): Promise<Ordered | null>;
  attempt(seq: number, n: number): Promise<Attempt | undefined>;
  attemptsOf(seq: number): Promise<Attempt[]>;
  journalOf(seq: number): Promise<JournalLine[]>;
  snapshotOf(seq: number): Promise<{ version: number; snapshot: string } | undefined>;
  /** What was agreed at submission, kept after the end: the routes in the order of trying, and when no attempt begins any more. */
  planOf(seq: number): Promise<{ plan: readonly PlannedRoute[]; waitEndsAtMs: number } | undefined>;
  /** Generations not ended, by seq, starting after `afterSeq`; at most `limit`. */
  unfinished(afterSeq: number, limit: number): Promise<OpenGeneration[]>;
  /** Attempts of ended generations that are still asked about. */
  watchedAttempts(afterSeq: number, limit: number): Promise<Attempt[]>;
  /** Attempts sent to a provider at or after a time, oldest first. */
  sentTo(provider: string, sinceMs: number): Promise<SentRow[]>;
  /** Orphans sent at or after a time, newest first. */
  orphans(sinceMs: number): Promise<OrphanRow[]>;
  /** Times from sending to delivery of the last deliveries of each route, newest last, at most `limit` per route, ms. */
  recentDeliveries(limit: number): Promise<Map<string, number[]>>;
  routeHealth(): Promise<Map<string, string>>;
  switchedOff(): Promise<SwitchedOff[]>;
  providerKeys(): Promise<ProviderKeyRow[]>;
  /** Job ids of a provider that attempts already own, so that a found job is never taken twice. */
  jobOwner(provider: string, jobId: string): Promise<{ seq: number; n: number } | undefined>;
  accounts(): Promise<AccountRow[]>;
  account(id: string): Promise<AccountRow | undefined>;
  /** At most `limit`. */
  searchAccounts(search: AccountSearch, limit: number): Promise<AccountRow[]>;
  /** What came of the last `limit` attempts of all routes together. */
  lastOutcomes(limit: number): Promise<RouteResults[]>;
  /** When each route that was ever judged last changed its health, ms. */
  healthChangedAt(): Promise<Map<string, number>>;
  /** Accounts, by their rows, that owe while they have something available; at most `limit`. */
  unsettledDebts(limit: number): Promise<number[]>;
  /** Oldest first. */
  parked(limit: number): Promise<ParkedRow[]>;
  key(id: string): Promise<KeyRow | undefined>;
  keys(accountId?: string): Promise<KeyRow[]>;
  /** By id, of one account or all. */
  keySpend(nowMs: number, accountId?: string): Promise<Map<string, KeySpend>>;
  /** Generations that ended on days from one to another, both included, as far as usage is rolled up. */
  usage(ask: { fromDay: number; toDay: number; accountId: string | null; by: UsageBy }): Promise<UsageRow[]>;
  /** Postings that are not in the usage yet. */
  usageBehind(): Promise<number>;
  /** The movements of an account before one of them (null: all), newest first; at most `limit`. */
  movements(accountId: string, beforeSeq: number | null, limit: number): Promise<TransferRow[]>;
  movementsOf(generationSeq: number): Promise<TransferRow[]>;
  /** Generations that have not ended, by seq, starting after `afterSeq`; at most `limit`. */
  openGenerations(
    afterSeq: number,
    limit: number,
  ): Promise<{ seq: number; status: "queued" | "running"; model: string; reservedCredits: Credits; createdAtMs: number }[]>;
  /** Adds up to `limit` further movements to those added up before. */
  bookSums(before: SummedUp, limit: number): Promise<LedgerTotals>;
  /** One step through a list of generations, newest first. What it costs is bounded by `looks`, however many there are. */
  generationsStep(ask: GenerationsQuery): Promise<GenerationsStep>;
  /** A generation by id whatever the account; for the operator. */
  findGeneration(
    id: string,
  ): Promise<(GenerationRecord & { accountId: string; key: MakingKey; idempotencyKey: string | null }) | undefined>;
  /** Highest time any process has stored. */
  lastSeenMs(): Promise<number>;
  /** The backup that this store is a copy of: when it was taken, the last generation in it, and whether an operator has looked after what it does not know; null for a store that never was one. */
  restored(): Promise<{ takenAtMs: number; upToSeq: number; isSettled: boolean } | null>;
  /** What the last recovery noted of itself; null where none ever did. */
  recoveryNote(): Promise<string | null>;
  /** Persistent random bytes by name (signing links, for example), hex. */
  secret(name: string): Promise<string>;
  mode(): Promise<Mode>;
  /**
   * The thirteen invariants. `nowMs` null: the service is not running, so overdue deadlines are not counted.
   * @param tell how far it is, and the invariants that are done, where it takes long.
   */
  verify(nowMs: number | null, tell?: (done: number, of: number, soFar: CheckResult[]) => void): Promise<CheckResult[]>;
  close(): Promise<void>;
}

/** The one writer of a store, or one of the nodes that share it. */
export interface Store extends StoreReads {
  /** Null: nobody else writes. */
  node: Node | null;
  /**
   * Carries out the mutations in order in one transaction, each in a savepoint of its own, and answers after the commit.
   * @throws StoreFull nothing was written, try again. @throws StoreUnknown the outcome is not known: stop the process.
   */
  commit(mutations: readonly Mutation[]): Promise<MutationResult[]>;
}
