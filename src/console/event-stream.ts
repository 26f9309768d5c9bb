// What is new on an account, told to whoever looks on as it is committed: one stream of server-sent events for each page, bounded for each.
import type { Clock } from "../domain/clock.ts";
import type { GenerationRecord } from "../domain/types.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { Mutation, MutationResult } from "../store/mutations.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";
import type { BalanceUpdate, GenerationUpdate, PurchaseUpdate } from "./generations-dto.ts";
import { createRemoteEvents, type RemoteEventsDeps } from "./remote-events.ts";
import { ConsoleRefused } from "./request-context.ts";

export type EventStreamDeps = {
  watch: CommitListener;
  reads: Pick<StoreReads, "account" | "purchases">;
  /** The other nodes that share the store; null where this process alone writes. */
  elsewhere: RemoteEventsDeps | null;
  clock: Clock;
  soon: (then: () => void) => void;
  /** Aborted when the service stops: a stream would hold that up. */
  closing: AbortSignal;
};
type AccountHeard = { seq: number; id: string };
export type Listening = {
  /** Whose generations are told, and its balance; null: those of all accounts, which have no balance in common. */
  account: AccountHeard | null;
  /** The account of whoever listens, whose balance stands on each of their pages, whoever's generations they look at. */
  own: AccountHeard | null;
  /** Who listens: a person has so many streams. */
  personId: string;
  /** Asked at each ping: whoever signs out does not go on listening. */
  isStillIn: () => Promise<boolean>;
};

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};
const PING_MS = 15_000;
const RECONNECT_MS = 1000;
/** A page has one; whoever has more pages than this open is told to close some. */
const MOST_OF_A_PERSON = 30;
const MOST_STREAMS = 1000;
const FULL_RETRY_S = 5;
/** Generations whose news wait for a client that does not read; with more it is told to read everything anew. */
const MOST_WAITING = 500;

const message = (event: string, told: object): string => `event: ${event}\ndata: ${JSON.stringify(told)}\n\n`;

const newsOf = (record: GenerationRecord): GenerationUpdate => {
  const { id, model, status, attempts, costCredits, completedAtMs } = record;
  return { id, model, status, message: record.message, attempts, costCredits, completedAtMs };
};

const balanceOf = ({ id, availableCredits, heldCredits, owedCredits, paused }: AccountRow): BalanceUpdate => ({
  accountId: id,
  ...{ availableCredits, heldCredits, owedCredits, paused },
});

/** One client. Of each generation only the last news waits. */
class Listener {
  readonly personId: string;
  readonly account: AccountHeard | null;
  private readonly balances: readonly AccountHeard[];
  private readonly deps: EventStreamDeps;
  private readonly waiting = new Map<string, string>();
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  private isDue = false;
  /** Accounts whose balance has moved since it was told. */
  private readonly moved = new Set<string>();

  constructor(deps: EventStreamDeps, { account, own, personId }: Pick<Listening, "account" | "own" | "personId">) {
    this.deps = deps;
    this.personId = personId;
    this.account = account;
    this.balances = [...(account ? [account] : []), ...(own && own.id !== account?.id ? [own] : [])];
  }

  begin(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller;
    controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\n\n`));
  }

  hear({ of, record, purchase, moves }: Change): void {
    const isOf = ({ seq, id }: AccountHeard): boolean => of === seq || of === id;
    const isMeant = this.account === null || isOf(this.account);
    if (isMeant && record) {
      // Anew at the end, so that the order is that of the last changes.
      this.waiting.delete(record.id);
      this.waiting.set(record.id, message("generation", newsOf(record)));
      if (this.waiting.size > MOST_WAITING) {
        this.waiting.clear();
        this.waiting.set("", message("again", {}));
      }
    }
    if (isMeant && purchase) this.waiting.set(purchase.id, message("purchase", purchase));
    if (moves) for (const one of this.balances) if (isOf(one)) this.moved.add(one.id);
    if (this.waiting.size > 0 || this.moved.size > 0) this.due();
  }

  /** Whether what becomes of an account is told here. */
  isAbout(accountSeq: number): boolean {
    return this.account === null || this.balances.some(({ seq }) => seq === accountSeq);
  }

  /** Its balances may have moved. */
  lookAgain(): void {
    for (const { id } of this.balances) this.moved.add(id);
    if (this.moved.size > 0) this.due();
  }

  ping(): void {
    if (this.waiting.size === 0) this.send(": \n\n");
  }

  end(): void {
    try {
      this.controller?.close();
    } catch {
      // It was closed from the other side.
    }
    this.controller = null;
  }

  /** What a commit of many mutations changed leaves in one piece. */
  due(): void {
    if (this.isDue) return;
    this.isDue = true;
    this.deps.soon(() => void this.flush());
  }

  private async flush(): Promise<void> {
    // What moves while the balance is read is read again.
    for (const accountId of this.moved) {
      this.moved.delete(accountId);
      const account = await this.deps.reads.account(accountId).catch(() => undefined);
      if (account) this.waiting.set(accountId, message("balance", balanceOf(account)));
    }
    this.isDue = false;
    // A client that does not read is asked again when it does (`pull`).
    if (this.waiting.size === 0 || (this.controller?.desiredSize ?? 0) <= 0) return;
    const text = [...this.waiting.values()].join("");
    this.waiting.clear();
    this.send(text);
  }

  private send(text: string): void {
    if (this.controller !== null && (this.controller.desiredSize ?? 0) > 0) this.controller.enqueue(encoder.encode(text));
  }
}
const encoder = new TextEncoder();

/** `of`: the account, by its row or its id; `moves`: its balance, or whether it is paused. */
type Change = { of: number | string; record?: GenerationRecord; purchase?: PurchaseUpdate; moves: boolean };

/** Whose generation or purchase a mutation changed, and whether it moved a balance; undefined where it did neither. */
const changeOf = (mutation: Mutation, outcome: MutationResult): Change | undefined => {
  if (outcome.kind === "admitted") return { of: outcome.record.accountSeq, record: outcome.record, moves: true };
  if (outcome.kind === "stepped" && mutation.mutation === "step")
    return { of: outcome.record.accountSeq, record: outcome.record, moves: mutation.settlement !== undefined };
  if (outcome.kind === "purchase") {
    if (!outcome.purchase || !outcome.changed || mutation.mutation === "note-asked") return;
    const { id, accountId, state } = outcome.purchase;
    // Also where nothing was there to be taken: the account is paused then.
    return { of: accountId, purchase: { id, accountId, state }, moves: true };
  }
  return mutation.mutation === "credit" || mutation.mutation === "set-account"
    ? { of: mutation.accountSeq, moves: true }
    : undefined;
};

export const createEventStream = (deps: EventStreamDeps) => {
  const listeners = new Set<Listener>();
  const ofPerson = new Map<string, number>();
  const tell = (change: Change) => {
    for (const listener of listeners) listener.hear(change);
  };
  const look = (mutation: Mutation, outcome: MutationResult) => {
    const change = changeOf(mutation, outcome);
    if (change) tell(change);
  };
  const elsewhere =
    deps.elsewhere === null
      ? null
      : createRemoteEvents(deps.elsewhere, deps.reads, {
          generation: ({ record, isNew, node }) => {
            // What this node has taken over it tells itself, step by step; what is told here may be older than the last of them.
            if (node === deps.elsewhere?.neighbours.own && record.completedAtMs === null) return;
            tell({ of: record.accountSeq, record, moves: isNew || record.completedAtMs !== null });
          },
          purchase: (purchase) => tell({ of: purchase.accountId, purchase, moves: false }),
          balances: () => {
            for (const listener of listeners) listener.lookAgain();
          },
          wants: (accountSeq) => [...listeners].some((listener) => listener.isAbout(accountSeq)),
          accounts: () => new Set([...listeners].map(({ account }) => account?.id ?? null)),
        });
  const left = (listener: Listener) => {
    if (!listeners.delete(listener)) return;
    const others = (ofPerson.get(listener.personId) ?? 1) - 1;
    if (others > 0) ofPerson.set(listener.personId, others);
    else ofPerson.delete(listener.personId);
    // Nothing is looked at while nobody listens.
    if (listeners.size === 0) {
      deps.watch.committed = null;
      elsewhere?.end();
    }
    listener.end();
  };
  deps.closing.addEventListener("abort", () => {
    for (const listener of [...listeners]) left(listener);
  });

  /** @throws ConsoleRefused `throttled` */
  const takePlace = (personId: string): void => {
    const taken = ofPerson.get(personId) ?? 0;
    if (taken >= MOST_OF_A_PERSON)
      throw new ConsoleRefused("throttled", "Too many pages of yours are open at once; close some of them.", FULL_RETRY_S);
    if (listeners.size >= MOST_STREAMS)
      throw new ConsoleRefused("throttled", "Too many pages are open at this moment; try again in a while.", FULL_RETRY_S);
    ofPerson.set(personId, taken + 1);
  };

  /** @throws ConsoleRefused `throttled` where too many listen */
  return async (request: Request, { isStillIn, ...whose }: Listening): Promise<Response> => {
    takePlace(whose.personId);
    // The page reads everything once it is connected: what happens from then on has to be told.
    await elsewhere?.begin(whose.account?.id ?? null);
    const listener = new Listener(deps, whose);
    let takeBack: () => void = () => undefined;
    const leave = () => {
      takeBack();
      left(listener);
    };
    const arm = () => {
      takeBack = deps.clock.after(PING_MS, () => {
        isStillIn().then(
          (isIn) => {
            if (!isIn || !listeners.has(listener)) return leave();
            listener.ping();
            arm();
          },
          () => leave(),
        );
      });
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        listeners.add(listener);
        deps.watch.committed = look;
        // Whoever left meanwhile may have been the last.
        void elsewhere?.begin(whose.account?.id ?? null);
        listener.begin(controller);
        arm();
        if (deps.closing.aborted || request.signal.aborted) leave();
      },
      pull: () => listener.due(),
      cancel: leave,
    });
    request.signal.addEventListener("abort", leave);
    return new Response(body, { headers: EVENT_STREAM_HEADERS });
  };
};
