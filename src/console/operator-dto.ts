// Types of the operator pages, shared by server and browser.
//
// Credits are whole numbers; 1 credit is 0.01 USD. Times are ms.

import type { Decided } from "../admin/generations.ts";
import type { Decision } from "../domain/operator-decision.ts";
import type { Credits, GenerationStatus, JsonObject, PromptRetention, TransferKind } from "../domain/types.ts";

export type AccountLine = {
  id: string;
  name: string;
  paused: boolean;
  /** Available and held credits. */
  balanceCredits: Credits;
  availableCredits: Credits;
  heldCredits: Credits;
  owedCredits: Credits;
  inProgress: number;
  createdAtMs: number;
};
export const ACCOUNT_STATUSES = ["all", "busy", "paused", "owing"] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];
/** `GET accounts?text=&standing=&before=`, newest first. `next` is the `before` of the next page; null at the end. */
/** A refund or dispute in a currency other than usd. An operator must decide how much it takes back from its purchase. */
export type UndecidedLine = {
  id: string;
  kind: "refund" | "dispute";
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
  paymentIntent: string;
  purchaseId: string;
  accountId: string;
  boughtCredits: Credits;
  reversedCredits: Credits;
  atMs: number;
};
/** `undecided`: reversals of all accounts. */
export type AccountsPage = { accounts: AccountLine[]; next: number | null; undecided: UndecidedLine[] };
/** A limit of the account; null selects the limit of the service. */
export type OwnLimit = { own: number | null; service: number };
export type AccountTransfer = {
  kind: TransferKind;
  credits: Credits;
  /** True if no credits are available. */
  isOut: boolean;
  generationId: string | null;
  note: string | null;
  availableAfterCredits: Credits;
  atMs: number;
};
/** `GET accounts/:id`, and the response to every change of an account. */
export type AccountView = AccountLine & {
  chargedCredits: Credits;
  limits: { burstPerS: OwnLimit; inProgress: OwnLimit };
  /** For how many seconds after the end of a generation its texts are kept. `own` null: the retention of the service. */
  promptRetention: { own: PromptRetention | null; service: PromptRetention };
  keys: { active: number; all: number };
  /** E-mail addresses of the account's users. */
  users: string[];
  transfers: AccountTransfer[];
  undecided: UndecidedLine[];
};
/**
 * `POST accounts/:id/credits`: the credits that were transferred, negative if taken back, and the debt that was added. A repeated
 * reference moves 0.
 */
export type CreditsAdjusted = { account: AccountView; transferredCredits: Credits; newlyOwedCredits: Credits };

export type RouteState = "up" | "down" | "off" | "ended" | "no key";
/**
 * Counts of the outcomes of a route's last attempts. `refused`: by the provider's rules for the input or a rate limit, which does
 * not reflect on the route.
 */
export type RouteOutcomesView = { delivered: number; failed: number; refused: number };
export type RouteLine = {
  id: string;
  model: string;
  provider: string;
  endpoint: string;
  state: RouteState;
  reason: string | null;
  /** Time when the route became unavailable or was disabled; null if unknown or available. */
  sinceMs: number | null;
  /** Time when an unavailable route is tried again. */
  untilMs: number | null;
  outcomes: RouteOutcomesView;
  /** Percentage of the delivered or failed attempts; null if there are none. */
  successPercent: number | null;
  /** From submission to delivery; null if nothing was delivered yet. */
  latency: { count: number; p50Ms: number; p90Ms: number; p99Ms: number } | null;
  /** Duration that quotes and `max_wait_s` use; `isMeasured` is false if it is the catalogue's value. */
  expectedMs: number;
  isMeasured: boolean;
  /** USD per `unit`. */
  price: { leastUsd: string; mostUsd: string; unit: string };
  margin: { leastPercent: number; mostPercent: number } | null;
  running: { taken: number; of: number };
};
/** `GET routes`. `attempts`: number of attempts evaluated, of all routes together. */
export type RoutesPage = {
  routes: RouteLine[];
  attempts: number;
  deliveries: number;
  /** True if several nodes share the run queue places of each route. The counts are those of the answering node. */
  isShared: boolean;
};
/** `POST routes/:id/check`: the provider's response to a check without a purchase. `costs`: minimum cost of a trial, in words. */
export type RouteChecked = { kind: "works" | "refused" | "unclear" | "none"; detail: string | null; costs: string };
/** `POST routes/:id/try`, `GET trials/:id`. */
export type TrialView = {
  generationId: string;
  accountId: string;
  status: GenerationStatus;
  reservedCredits: Credits;
  costCredits: Credits | null;
  /** Reason why the trial did not deliver. */
  failure: string | null;
};

export type KeySourceView = { from: "settings" | "file" | "vault"; setAtMs: number | null };
export type ProviderAccount = {
  account: string;
  /** The name of its first interface. */
  name: string;
  /** When the stored key was set, in use or not; null if there is none. */
  storedAtMs: number | null;
  /** How a key looks; null if unknown. */
  keyExample: string | null;
  interfaces: {
    id: string;
    name: string;
    /** Credential of this interface, which may differ from that of its account. */
    key: KeySourceView | null;
    routes: Pick<RouteLine, "id" | "model" | "state" | "reason">[];
  }[];
};
export type ProvidersPage = { providers: ProviderAccount[] };
/**
 * A check of the key of an interface without a purchase. `works` and `refused`: by the provider's response. `none`: the provider
 * has no free request.
 */
export type KeyChecked = { provider: string; name: string; kind: RouteChecked["kind"]; detail: string | null };
/** `POST providers/:account/check`: for each interface that has a route with a key. */
export type KeysChecked = { account: string; checks: KeyChecked[] };
/**
 * `POST providers/:account/key`. `isShadowed`: the configuration has a credential too, which has precedence, so the stored one is
 * not checked.
 */
export type KeySet = KeysChecked & { isShadowed: boolean };

export type OrphanLine = {
  generationId: string;
  n: number;
  accountId: string;
  fate: "late" | "mismatched" | "unusable" | "unknown";
  provider: string;
  routeId: string;
  jobId: string | null;
  ref: string;
  priceCredits: Credits;
  sentAtMs: number;
  isWatched: boolean;
  known: string;
  toDo: string;
};
/** Text that is the same for all orphans of a kind. */
export type OrphanKind = { fate: OrphanLine["fate"]; known: string; toDo: string; count: number; credits: Credits };
/** `GET orphans?since=24h`: newest first. `count` and `credits` cover all of them; `orphans` contains at most 500. */
export type OrphansPage = { count: number; credits: Credits; kinds: OrphanKind[]; orphans: OrphanLine[] };

export type InvariantResult = { invariant: number; name: string; ok: boolean; offending: JsonObject[]; note?: string };
/** Two sums that must be equal: of all balances, and of all transfers. */
export type SumsCompared = { name: string; balanceCredits: Credits; transferCredits: Credits };
export type VerificationRun = {
  startedAtMs: number;
  by: string;
  done: number;
  of: number;
  /** Results of the completed invariants, by number. */
  results: InvariantResult[];
};
export type VerificationResult = VerificationRun & {
  tookMs: number;
  transfers: number;
  sums: SumsCompared[];
  /** Reason why the run was aborted; in this case nothing is verified. */
  fault: string | null;
};
/** `GET verification`; `POST verification` starts a run or joins the running one. */
export type VerificationView = { invariants: number; running: VerificationRun | null; last: VerificationResult | null };

/** A node that is alive or has ended in the last week. */
export type NodeLine = {
  /** `host/slot/epoch` */
  name: string;
  /** True for the node that answers. */
  isThis: boolean;
  host: string;
  pid: number;
  epoch: number;
  openedAtMs: number;
  /** Remaining lease by the clock of the database; null if the node has ended. */
  leaseEndsInMs: number | null;
  /** Generations that the node owns. */
  queued: number;
  running: number;
  /** Takeovers in the last week: from other nodes, and by other nodes. */
  tookOver: number;
  takenOver: number;
  endedAtMs: number | null;
  /** The node that ended it after its lease had expired; null if it closed itself or is alive. */
  endedBy: string | null;
};

/** `POST generations/:id/decision`. `attempt`: the attempt to settle; null: the newest that may have delivered. */
export type GenerationDecisionRequest = { decision: Decision; attempt: number | null; reason: string };
export type DecidedView = Decided;

/** A route that can cost more than it is sold for. */
export type LosingRoute = { id: string; leastPercent: number; mostPercent: number };
/**
 * `POST backup` begins one. `dir`: null without `backup.dir`. `isShared`: PostgreSQL, which has tools of its own. `lastMs`: time of
 * the newest verified backup. `running` and `ended`: of this process.
 */
export type BackupView = {
  dir: string | null;
  isShared: boolean;
  lastMs: number | null;
  running: { startedAtMs: number; by: string | null; step: string } | null;
  ended: { startedAtMs: number; by: string | null; tookMs: number; path: string | null; fault: string | null } | null;
};

export const OVERVIEW_PERIODS = ["today", "7d", "30d"] as const;
export type OverviewPeriod = (typeof OVERVIEW_PERIODS)[number];
/** Sums of ended generations. Costs are the providers', by the plans; `uncostedCredits` was charged where the cost is unknown. */
export type OverviewSums = {
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
  costMicroUsd: number;
  uncostedCredits: Credits;
};
/**
 * `GET overview?period=`. Days are in UTC and include the present one. `previous`: the same number of days before, up to the same
 * hour of the day. `steps`: hours of today, otherwise days, without gaps.
 */
export type OverviewView = {
  period: OverviewPeriod;
  fromMs: number;
  toMs: number;
  current: OverviewSums;
  previous: OverviewSums;
  steps: (OverviewSums & { atMs: number })[];
  /** Codes of errors, most frequent first. */
  reasons: { code: string; count: number }[];
  queue: { queued: number; running: number; oldestMs: number | null };
  routes: { up: number; off: number; down: { id: string; reason: string | null; untilMs: number | null }[] };
  losing: LosingRoute[];
  parked: number;
  /** Refunds and disputes in foreign currencies that wait for a decision. */
  undecided: number;
  /** Of the last 7 days, counted at most 10 minutes ago; null until they are counted. */
  orphans: { count: number; credits: Credits } | null;
  backup: BackupView;
  ready: boolean;
  faults: string[];
  warnings: string[];
};

/** `GET service`. `queued` and `running` are sums over all nodes. */
export type ServiceView = {
  version: string;
  mode: "test" | "live";
  url: string;
  startedAtMs: number;
  ready: boolean;
  faults: string[];
  /** Conditions that need an operator although the service accepts work. */
  warnings: string[];
  queued: number;
  running: number;
  /** `reason`: why the generation is parked. */
  parked: {
    id: string;
    accountId: string;
    model: string;
    createdAtMs: number;
    parkedAtMs: number;
    reservedCredits: Credits;
    reason: string;
  }[];
  /**
   * `open`: unfinished generations of the backup remain and are confirmed with their providers before any submission. `settled`:
   * the operator has confirmed the check of work that the backup does not contain.
   */
  restored: { takenAtMs: number; open: boolean; settled: boolean } | null;
  backup: BackupView;
  /** Usable routes whose price can be below their cost. */
  losing: LosingRoute[];
  /** Null for a single process. */
  nodes: NodeLine[] | null;
};
