// What the operator's pages are sent: shapes that the server fills and the browser reads. Credits are whole; 1 is 0.01 USD; times are ms.

import type { Decided } from "../admin/generations.ts";
import type { Decision } from "../domain/operator-decision.ts";
import type { Credits, GenerationStatus, JsonObject, TransferKind } from "../domain/types.ts";

export type AccountLine = {
  id: string;
  name: string;
  paused: boolean;
  /** Available and held. */
  balanceCredits: Credits;
  availableCredits: Credits;
  heldCredits: Credits;
  owedCredits: Credits;
  inProgress: number;
  createdAtMs: number;
};
export const ACCOUNT_STATUSES = ["all", "busy", "paused", "owing"] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];
/** `GET accounts?text=&standing=&before=`, newest first. `next`: what `before` of the page after it is; null at the end. */
/** A refund or dispute in another currency than usd, of which an operator has to decide what it takes back of its purchase. */
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
/** `undecided`: of all accounts. */
export type AccountsPage = { accounts: AccountLine[]; next: number | null; undecided: UndecidedLine[] };
/** A limit of the account's own, null for the service's. */
export type OwnLimit = { own: number | null; service: number };
export type AccountTransfer = {
  kind: TransferKind;
  credits: Credits;
  /** Out of what is available. */
  isOut: boolean;
  generationId: string | null;
  note: string | null;
  availableAfterCredits: Credits;
  atMs: number;
};
/** `GET accounts/:id`; what every change of an account answers, too. */
export type AccountView = AccountLine & {
  chargedCredits: Credits;
  limits: { burstPerS: OwnLimit; inProgress: OwnLimit };
  keys: { active: number; all: number };
  /** E-mail addresses of those who sign in for it. */
  people: string[];
  movements: AccountTransfer[];
  undecided: UndecidedLine[];
};
/** `POST accounts/:id/credits`: what really moved, below zero when taken back, and what is owed now beside it. The same reference again moves 0. */
export type CreditsAdjusted = { account: AccountView; movedCredits: Credits; newlyOwedCredits: Credits };

export type RouteState = "up" | "down" | "off" | "ended" | "no key";
/** What the outcomes of a route's last attempts say. `refused`: by the provider's rules for the input, or a rate limit; they say nothing of the route. */
export type RouteOutcomesView = { delivered: number; failed: number; refused: number };
export type RouteLine = {
  id: string;
  model: string;
  provider: string;
  endpoint: string;
  state: RouteState;
  reason: string | null;
  /** When it went down or off; null where that is not known, or it is up. */
  sinceMs: number | null;
  /** When one that is down is tried again. */
  untilMs: number | null;
  outcomes: RouteOutcomesView;
  /** Of those that delivered or failed; null where none did. */
  successPercent: number | null;
  /** From sending to delivery; null where nothing was delivered yet. */
  latency: { count: number; p50Ms: number; p90Ms: number; p99Ms: number } | null;
  /** What quotes and `max_wait_s` reckon with; `isMeasured`: not the catalogue's figure any more. */
  expectedMs: number;
  isMeasured: boolean;
  /** USD per `unit`. */
  price: { leastUsd: string; mostUsd: string; unit: string };
  margin: { leastPercent: number; mostPercent: number } | null;
  seats: { taken: number; of: number };
};
/** `GET routes`. `attempts`: how many of the last ones were looked at, of all routes together. */
export type RoutesPage = {
  routes: RouteLine[];
  attempts: number;
  deliveries: number;
  /** Several nodes share out the seats of each route: what is told of seats is of the one that answers. */
  isShared: boolean;
};
/** `POST routes/:id/check`: what the provider says without anything being bought. `costs`: what a bought trial costs at least, in words. */
export type RouteChecked = { kind: "works" | "refused" | "unclear" | "none"; detail: string | null; costs: string };
/** `POST routes/:id/try`, `GET trials/:id`. */
export type TrialView = {
  generationId: string;
  accountId: string;
  status: GenerationStatus;
  reservedCredits: Credits;
  costCredits: Credits | null;
  /** Why it did not deliver. */
  failure: string | null;
};

export type KeySourceView = { from: "settings" | "file" | "vault"; setAtMs: number | null };
export type ProviderAccount = {
  account: string;
  interfaces: {
    id: string;
    name: string;
    /** Of this interface: one may have a key of its own. */
    key: KeySourceView | null;
    routes: Pick<RouteLine, "id" | "model" | "state" | "reason">[];
  }[];
};
export type ProvidersPage = { providers: ProviderAccount[] };
/** `POST providers/:account/key`. `isShadowed`: the settings have one too, and theirs goes before it. */
export type KeySet = { account: string; isShadowed: boolean };

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
/** What is the same for all orphans of a kind. */
export type OrphanKind = { fate: OrphanLine["fate"]; known: string; toDo: string; count: number; credits: Credits };
/** `GET orphans?since=24h`: newest first; `count` and `credits` of all of them, `orphans` at most 500. */
export type OrphansPage = { count: number; credits: Credits; kinds: OrphanKind[]; orphans: OrphanLine[] };

export type InvariantResult = { invariant: number; name: string; ok: boolean; offending: JsonObject[]; note?: string };
/** Sums that have to be equal: of all balances, and of all movements. */
export type SumsCompared = { name: string; balanceCredits: Credits; movementCredits: Credits };
export type ProofRun = {
  startedAtMs: number;
  by: string;
  done: number;
  of: number;
  /** Those that are done, by number. */
  results: InvariantResult[];
};
export type VerificationResult = ProofRun & {
  tookMs: number;
  movements: number;
  sums: SumsCompared[];
  /** Why it could not be run to its end; then nothing is proved. */
  fault: string | null;
};
/** `GET proof`; `POST proof` begins one, or joins the one that runs. */
export type ProofView = { invariants: number; running: ProofRun | null; last: VerificationResult | null };

/** A node that is alive, or has ended in the last week. */
export type NodeLine = {
  /** `host/slot/epoch` */
  name: string;
  /** The one that answers. */
  isThis: boolean;
  host: string;
  pid: number;
  epoch: number;
  openedAtMs: number;
  /** By the clock of the database; null: it has ended. */
  leaseEndsInMs: number | null;
  /** Generations that it owns. */
  queued: number;
  running: number;
  /** In the last week: what it took over from others, and others from it. */
  tookOver: number;
  takenOver: number;
  endedAtMs: number | null;
  /** Who ended it when its lease had run out; null: it closed, or is alive. */
  endedBy: string | null;
};

/** `POST generations/:id/decision`. `attempt`: the one to settle; null: the newest that may have delivered. */
export type GenerationDecisionRequest = { decision: Decision; attempt: number | null; reason: string };
export type DecidedView = Decided;

/** `GET service`. `queued` and `running`: of all nodes, where there are several. */
export type ServiceView = {
  version: string;
  mode: "test" | "live";
  url: string;
  startedAtMs: number;
  ready: boolean;
  faults: string[];
  /** What needs the operator although it takes work. */
  warnings: string[];
  queued: number;
  running: number;
  /** `reason`: why the store refused to let it go on. */
  parked: {
    id: string;
    accountId: string;
    model: string;
    createdAtMs: number;
    parkedAtMs: number;
    reservedCredits: Credits;
    reason: string;
  }[];
  /** `open`: generations of it that have not ended, whose providers are asked before anything is sent. `settled`: what it does not know was looked after. */
  restored: { takenAtMs: number; open: boolean; settled: boolean } | null;
  /** `lastMs`: when the newest verified one was taken. */
  backup: { isNightly: boolean; lastMs: number | null };
  /** Null: one process alone. */
  nodes: NodeLine[] | null;
};
