// Streams committed changes of an account to console pages as server-sent events.
//
// Each page has one stream. Number of streams and queue of each stream are bounded.

import { createPlaces } from "../collections/places.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, MutationResult } from "../domain/mutations.ts";
import type { GenerationRecord } from "../domain/types.ts";
import { EVENT_STREAM_HEADERS, EventStream, sseEvent, type Taken } from "../event-streams/stream.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";
import type { BalanceUpdate, GenerationUpdate, PurchaseUpdate } from "./generations-dto.ts";
import { createRemoteEvents, type RemoteEventsDeps } from "./remote-events.ts";
import { ConsoleRefused } from "./request-context.ts";

export type EventStreamDeps = {
  watch: CommitListener;
  reads: Pick<StoreReads, "account" | "purchases">;
  /** The other nodes that share the store; null for a single process. */
  elsewhere: RemoteEventsDeps | null;
  clock: Clock;
  soon: (then: () => void) => void;
  /** Aborted when the service stops, because an open stream would delay the stop. */
  closing: AbortSignal;
};
type AccountListener = { seq: number; id: string };
export type Listening = {
  /** Account whose generations and balance are sent; null for the generations of all accounts, without a balance. */
  account: AccountListener | null;
  /** The user's own account, whose balance is shown on every page, also while the user views other accounts. */
  own: AccountListener | null;
  /** The user; the number of streams per user is limited. */
  userId: string;
  /** Called at each ping; the stream ends when the user has signed out. */
  isStillIn: () => Promise<boolean>;
};

/** Each page has one stream. A user who opens more pages gets an error that requests closing some. */
const MAX_OF_A_USER = 30;
const MAX_STREAMS = 1000;
const FULL_RETRY_S = 5;
/** Pending generation updates of a client that does not read. Beyond this number the client must reload everything. */
const MAX_WAITING = 500;

const message = (type: string, data: object): string => sseEvent({ type, data: JSON.stringify(data) });

const updateOf = (record: GenerationRecord): GenerationUpdate => {
  const { id, model, status, attempts, costCredits, completedAtMs } = record;
  return { id, model, status, message: record.message, attempts, costCredits, completedAtMs };
};

const balanceOf = ({ id, availableCredits, heldCredits, owedCredits, paused }: AccountRow): BalanceUpdate => ({
  accountId: id,
  ...{ availableCredits, heldCredits, owedCredits, paused },
});

/** The stream of one client. Only the last update of each generation is queued. */
class Listener {
  readonly stream: EventStream;
  readonly account: AccountListener | null;
  private readonly balances: readonly AccountListener[];
  private readonly deps: EventStreamDeps;
  private readonly waiting = new Map<string, string>();
  /** Accounts whose balance has changed since it was sent. */
  private readonly moved = new Set<string>();

  /** @param onEnd called when the stream has ended */
  constructor(deps: EventStreamDeps, { account, own, isStillIn }: Listening, signal: AbortSignal, onEnd: () => void) {
    this.deps = deps;
    this.account = account;
    this.balances = [...(account ? [account] : []), ...(own && own.id !== account?.id ? [own] : [])];
    this.stream = new EventStream(deps, { take: () => this.take(), isAllowed: isStillIn, onEnd }, signal);
  }

  onChange({ of, record, purchase, moves }: Change): void {
    const isOf = ({ seq, id }: AccountListener): boolean => of === seq || of === id;
    const isMeant = this.account === null || isOf(this.account);
    if (isMeant && record) {
      // Inserted again at the end, so that the order is the order of the last changes.
      this.waiting.delete(record.id);
      this.waiting.set(record.id, message("generation", updateOf(record)));
      if (this.waiting.size > MAX_WAITING) {
        this.waiting.clear();
        this.waiting.set("", message("again", {}));
      }
    }
    if (isMeant && purchase) this.waiting.set(purchase.id, message("purchase", purchase));
    if (moves) for (const one of this.balances) if (isOf(one)) this.moved.add(one.id);
    if (this.waiting.size > 0 || this.moved.size > 0) this.stream.changed();
  }

  /** True if changes of the account are sent on this stream. */
  isAbout(accountSeq: number): boolean {
    return this.account === null || this.balances.some(({ seq }) => seq === accountSeq);
  }

  /** Marks the balances of this stream as possibly changed. */
  refresh(): void {
    for (const { id } of this.balances) this.moved.add(id);
    if (this.moved.size > 0) this.stream.changed();
  }

  private async take(): Promise<Taken> {
    // An account whose balance changes during the read is read again.
    for (const accountId of this.moved) {
      this.moved.delete(accountId);
      const account = await this.deps.reads.account(accountId).catch(() => undefined);
      if (account) this.waiting.set(accountId, message("balance", balanceOf(account)));
    }
    const text = [...this.waiting.values()].join("");
    this.waiting.clear();
    return { text };
  }
}

/** `of`: the account, by row or id. `moves`: its balance or its pause has changed. */
type Change = { of: number | string; record?: GenerationRecord; purchase?: PurchaseUpdate; moves: boolean };

/** The generation or purchase that a mutation changed, and whether a balance changed; undefined if neither did. */
const changeOf = (mutation: Mutation, outcome: MutationResult): Change | undefined => {
  if (outcome.kind === "admitted") return { of: outcome.record.accountSeq, record: outcome.record, moves: true };
  if (outcome.kind === "stepped" && mutation.mutation === "step")
    return { of: outcome.record.accountSeq, record: outcome.record, moves: mutation.settlement !== undefined };
  if (outcome.kind === "purchase") {
    if (!outcome.purchase || !outcome.changed || mutation.mutation === "note-asked") return;
    const { id, accountId, state } = outcome.purchase;
    // Also true if no credits could be taken, because the account is then paused.
    return { of: accountId, purchase: { id, accountId, state }, moves: true };
  }
  return mutation.mutation === "credit" || mutation.mutation === "set-account"
    ? { of: mutation.accountSeq, moves: true }
    : undefined;
};

export const createEventStream = (deps: EventStreamDeps) => {
  const listeners = new Set<Listener>();
  const places = createPlaces<string>({ ofOwner: MAX_OF_A_USER, inAll: MAX_STREAMS });
  const report = (change: Change) => {
    for (const listener of listeners) listener.onChange(change);
  };
  const look = (mutation: Mutation, outcome: MutationResult) => {
    const change = changeOf(mutation, outcome);
    if (change) report(change);
  };
  const elsewhere =
    deps.elsewhere === null
      ? null
      : createRemoteEvents(deps.elsewhere, deps.reads, {
          generation: ({ record, isNew, node }) => {
            // A generation that this node has taken over is reported by its own commits; the remote change may be older than the
            // last of them.
            if (node === deps.elsewhere?.remoteChanges.own && record.completedAtMs === null) return;
            report({ of: record.accountSeq, record, moves: isNew || record.completedAtMs !== null });
          },
          purchase: (purchase) => report({ of: purchase.accountId, purchase, moves: false }),
          balances: () => {
            for (const listener of listeners) listener.refresh();
          },
          wants: (accountSeq) => [...listeners].some((listener) => listener.isAbout(accountSeq)),
          accounts: () => new Set([...listeners].map(({ account }) => account?.id ?? null)),
        });
  deps.closing.addEventListener("abort", () => {
    for (const { stream } of [...listeners]) stream.end();
  });

  /** @throws ConsoleRefused `throttled` */
  const takePlace = (userId: string): void => {
    const full = places.take(userId);
    if (full === "owner")
      throw new ConsoleRefused("throttled", "Too many pages of yours are open at once; close some of them.", FULL_RETRY_S);
    if (full === "all")
      throw new ConsoleRefused("throttled", "Too many pages are open at this moment; try again in a while.", FULL_RETRY_S);
  };
  const open = (listening: Listening, signal: AbortSignal): Listener => {
    const listener = new Listener(deps, listening, signal, () => {
      listeners.delete(listener);
      places.release(listening.userId);
      // Without streams, commits are not observed.
      if (listeners.size > 0) return;
      deps.watch.committed = null;
      elsewhere?.end();
    });
    listeners.add(listener);
    deps.watch.committed = look;
    return listener;
  };

  /** @throws ConsoleRefused `throttled` if too many streams are open */
  return async (request: Request, listening: Listening): Promise<Response> => {
    takePlace(listening.userId);
    // The page loads everything once it is connected, so all later changes must be sent.
    await elsewhere?.begin(listening.account?.id ?? null).catch((fault: unknown) => {
      places.release(listening.userId);
      throw fault;
    });
    const { stream } = open(listening, request.signal);
    // The last other stream may have closed in the meantime and ended the subscription.
    void elsewhere?.begin(listening.account?.id ?? null);
    if (deps.closing.aborted) stream.end();
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  };
};
