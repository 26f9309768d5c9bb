// Events of an account in the form of its webhooks, read from what is stored.
//
// Every end of a generation, every paid purchase and every fall of the balance is a transfer, and the transfers of an account are
// one chain. They are sent in its order, exactly once. The start of a generation is no transfer; it is sent before the end at the latest, and a client
// resumes after it by its time.
import type { Caller, Credits } from "../domain/types.ts";
import { purchaseData, type WebhookEvent } from "../domain/webhooks.ts";
import type { StoreReads, TransferRow } from "../store/store.ts";
import { bodyOf, eventIdOf, lowBalanceEventId } from "../webhooks/payload.ts";
import { type GenerationEventsDeps, isEnd, readHistory } from "./generation-events.ts";
import type { HistoryEvent } from "./history.ts";
import { fallenBalances, type LowBalanceDeps } from "./low-balances.ts";
import { isAfter, type Position, type Positions, type Start } from "./positions.ts";
import { COMMENT, sseEvent, type Taken } from "./stream.ts";
import { newestTransferNo, TransferPages } from "./transfer-pages.ts";

export type AccountEventsDeps = GenerationEventsDeps & {
  reads: Pick<StoreReads, "transfers" | "generationsStep" | "generationById" | "purchasesOfTransfers" | "purchase"> &
    LowBalanceDeps["reads"];
  /** The available credits below which the balance of an account without its own threshold is low; 0: never. */
  lowBalanceCredits: Credits;
  positions: Positions;
  nowMs: () => number;
  /** Other nodes may commit a start after later ones were sent. */
  isShared: boolean;
};
type Account = Pick<Caller, "accountId" | "accountSeq">;

const MAX_RUNNING = 1_000;
/**
 * Starts of this time before a position are sent again where nodes share the store: clocks differ, and a node whose commit takes
 * longer than its patience with the database ends.
 */
const OVERLAP_MS = 60_000;
const NEVER: Start = { atMs: 0, seq: 0 };

/** An event to send. `id`: of the event. `objectId`: of its generation or purchase. `start`: set for the start of a generation. `transferNo`: of the transfer that is or follows it. */
type Pending = {
  id: string;
  objectId: string | null;
  type: WebhookEvent;
  sequence: number;
  atMs: number;
  data: string;
  start: Start | null;
  transferNo: number;
};

/** Row numbers of the running generations of an account. */
const runningOf = async (reads: Pick<StoreReads, "generationsStep">, accountSeq: number): Promise<number[]> => {
  const seqs: number[] = [];
  for (let from: number | null = null; ; ) {
    const step: Awaited<ReturnType<StoreReads["generationsStep"]>> = await reads.generationsStep({
      ...{ accountSeq, fromMs: null, toMs: null, status: "running", models: null, keyId: null, from, withPrompts: false },
      ...{ limit: MAX_RUNNING, maxExamined: MAX_RUNNING },
    });
    for (const { record } of step.found) seqs.push(record.seq);
    if (step.next === null) return seqs;
    from = step.next;
  }
};

/** Puts starts before the ends that follow them in time, and each before the end of its own generation. */
const inOrder = (starts: readonly Pending[], ends: readonly Pending[]): Pending[] => {
  const waiting = starts.toSorted((a, b) => (isAfter(a.start ?? NEVER, b.start ?? NEVER) ? 1 : -1));
  const ordered: Pending[] = [];
  for (const end of ends) {
    const own = waiting.findIndex(({ objectId }) => objectId === end.objectId);
    const earlier = waiting.filter(({ atMs }) => atMs <= end.atMs).length;
    ordered.push(...waiting.splice(0, Math.max(own + 1, earlier)), end);
  }
  return [...ordered, ...waiting];
};

/** What the stream of one client has sent, and what follows. */
class AccountEvents {
  private readonly deps: AccountEventsDeps;
  private readonly account: Account;
  private readonly types: ReadonlySet<WebhookEvent>;
  private readonly wantsGenerations: boolean;
  /** Everything up to here was sent before this stream, or is not wanted. */
  private readonly from: Start;
  private position: Position;
  /** Running generations whose start is sent, or is not to be sent. */
  private readonly known: Set<number>;
  private readonly pages: TransferPages;
  private hasBegun = false;
  /** The position has changed since the client received one. */
  private isMoved = true;

  constructor(
    deps: AccountEventsDeps,
    account: Account,
    types: ReadonlySet<WebhookEvent>,
    { position, from, known }: { position: Position; from: Start; known: readonly number[] },
  ) {
    this.deps = deps;
    this.account = account;
    this.types = types;
    this.wantsGenerations = [...types].some((type) => type.startsWith("generation."));
    this.from = from;
    this.position = position;
    this.pages = new TransferPages(deps.reads, account.accountId);
    this.known = new Set(known);
  }

  async take(): Promise<Taken> {
    // A client that loses the connection before the first event resumes at the position at which the stream began.
    const first = this.hasBegun ? "" : this.ping();
    this.hasBegun = true;
    const { transfers, hasMore } = await this.pages.after(this.position.transferNo);
    const { starts, ends } = await this.eventsOf(transfers);
    if (!hasMore) starts.push(...(await this.runningStarts()));
    const text = inOrder(starts, ends).map((event) => this.send(event));
    this.moveTo(transfers.at(-1)?.chainSeq);
    return { text: first + text.join(""), hasMore };
  }

  /** The position where it has changed, so that a client that filters does not fall behind. */
  ping(): string {
    if (!this.isMoved) return COMMENT;
    this.isMoved = false;
    return `id: ${this.idOf(null)}\n\n`;
  }

  private idOf(eventId: string | null): string {
    const { positions, nowMs, isShared } = this.deps;
    const { transferNo, start } = this.position;
    const certain = { atMs: nowMs() - OVERLAP_MS, seq: 0 };
    const resumed = isShared && isAfter(start, certain) ? certain : start;
    return positions.idOf(this.account.accountId, eventId, { transferNo, start: resumed });
  }

  private moveTo(transferNo: number | undefined): void {
    if (transferNo === undefined || transferNo === this.position.transferNo) return;
    this.position = { ...this.position, transferNo };
    this.isMoved = true;
  }

  private send({ id, type, sequence, atMs, data, start, transferNo }: Pending): string {
    if (start === null) this.position = { ...this.position, transferNo };
    else {
      this.known.add(start.seq);
      if (isAfter(start, this.position.start)) this.position = { ...this.position, start };
    }
    if (!this.types.has(type)) return "";
    this.isMoved = false;
    return sseEvent({
      id: this.idOf(id),
      type,
      data: bodyOf({ type, createdAtMs: atMs, sequence }, data),
    });
  }

  private startOf({ sequence, atMs, record }: HistoryEvent): Pending {
    const { id: objectId, seq } = record;
    const data = this.deps.resourceOf(record);
    return {
      ...{ id: eventIdOf(objectId, sequence), objectId, type: "generation.running", sequence, atMs, data },
      start: { atMs, seq },
      transferNo: 0,
    };
  }

  /** The start of a generation, if it is to be sent. */
  private newStart(history: readonly HistoryEvent[]): HistoryEvent | undefined {
    if (!this.types.has("generation.running")) return undefined;
    const start = history.find(({ type }) => type === "generation.running");
    if (start === undefined || this.known.has(start.record.seq)) return undefined;
    return isAfter({ atMs: start.atMs, seq: start.record.seq }, this.from) ? start : undefined;
  }

  /** The starts of generations that run now. */
  private async runningStarts(): Promise<Pending[]> {
    if (!this.types.has("generation.running")) return [];
    const starts: Pending[] = [];
    for (const seq of await runningOf(this.deps.reads, this.account.accountSeq)) {
      if (this.known.has(seq)) continue;
      const start = this.newStart(await readHistory(this.deps.reads, seq));
      if (start) starts.push(this.startOf(start));
      else this.known.add(seq);
    }
    return starts;
  }

  private async eventsOf(transfers: readonly TransferRow[]): Promise<{ starts: Pending[]; ends: Pending[] }> {
    const topups = transfers.filter(({ kind }) => kind === "topup").map(({ seq }) => seq);
    const purchases = topups.length === 0 ? new Map<number, string>() : await this.deps.reads.purchasesOfTransfers(topups);
    const lows = new Map((await this.lowBalances(transfers)).map((event) => [event.transferNo, event]));
    const [starts, ends]: [Pending[], Pending[]] = [[], []];
    for (const { seq, chainSeq, kind, generationId } of transfers) {
      const purchaseId = purchases.get(seq);
      if (purchaseId !== undefined) ends.push(...(await this.purchaseEvent(purchaseId, chainSeq)));
      const low = lows.get(chainSeq);
      if (low) ends.push(low);
      if (generationId === null || !this.wantsGenerations || (kind !== "capture" && kind !== "release")) continue;
      const { start, end } = await this.endOf(generationId, kind);
      if (start) starts.push(this.startOf(start));
      if (!end) continue;
      const { sequence, atMs, record } = end;
      const type = kind === "capture" ? "generation.succeeded" : "generation.failed";
      const data = this.deps.resourceOf(record);
      const id = eventIdOf(generationId, sequence);
      ends.push({ ...{ id, objectId: generationId, type, sequence, atMs, data }, start: null, transferNo: chainSeq });
    }
    return { starts, ends };
  }

  private async lowBalances(transfers: readonly TransferRow[]): Promise<Pending[]> {
    if (!this.types.has("credits.low")) return [];
    const { accountSeq } = this.account;
    const { reads, lowBalanceCredits: defaultCredits } = this.deps;
    const fallen = await fallenBalances({ reads, defaultCredits }, accountSeq, transfers);
    return fallen.map(({ chainSeq, atMs, balance }) => ({
      ...{ id: lowBalanceEventId(accountSeq, chainSeq, atMs), objectId: null, type: "credits.low", sequence: chainSeq, atMs },
      ...{ data: JSON.stringify(balance), start: null, transferNo: chainSeq },
    }));
  }

  /** The end that a settlement is, with the start of the generation if it was not sent. A capture is followed by a release. */
  private async endOf(
    id: string,
    kind: "capture" | "release",
  ): Promise<{ start?: HistoryEvent | undefined; end?: HistoryEvent }> {
    const { reads } = this.deps;
    const record = await reads.generationById(id, this.account.accountSeq);
    if (!record || record.status !== (kind === "capture" ? "succeeded" : "failed")) return {};
    const history = await readHistory(reads, record.seq);
    const end = history.find(isEnd);
    const start = this.newStart(history);
    this.known.delete(record.seq);
    return end ? { start, end } : {};
  }

  private async purchaseEvent(purchaseId: string, transferNo: number): Promise<Pending[]> {
    const purchase = await this.deps.reads.purchase(purchaseId);
    if (!purchase || purchase.paidAtMs === null) return [];
    const { id, credits, paidAtMs } = purchase;
    const data = JSON.stringify(purchaseData({ id, credits, paidAtMs }));
    const type = "purchase.completed";
    return [{ id: eventIdOf(id, 1), objectId: id, type, sequence: 1, atMs: paidAtMs, data, start: null, transferNo }];
  }
}

/** @param position where the client resumes; null: now */
export const createAccountEvents = async (
  deps: AccountEventsDeps,
  account: Account,
  types: ReadonlySet<WebhookEvent>,
  position: Position | null,
): Promise<Pick<AccountEvents, "take" | "ping">> => {
  const { reads } = deps;
  if (position !== null) return new AccountEvents(deps, account, types, { position, from: position.start, known: [] });
  // In this order, because a generation that starts meanwhile is new.
  const known = types.has("generation.running") ? await runningOf(reads, account.accountSeq) : [];
  const transferNo = await newestTransferNo(reads, account.accountId);
  const now = { transferNo, start: { atMs: deps.nowMs(), seq: 0 } };
  return new AccountEvents(deps, account, types, { position: now, from: NEVER, known });
};
