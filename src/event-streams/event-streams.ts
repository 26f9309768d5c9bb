// Event streams of the API: the events of one generation, and the events of an account.
//
// A change wakes the streams that it concerns, and each then reads what it has not sent. Without streams, a commit costs one check
// and no query is sent. If other nodes share the store, their changes are looked for once a second.

import { createPlaces } from "../collections/places.ts";
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Cursors } from "../domain/cursors.ts";
import type { Mutation, MutationResult } from "../domain/mutations.ts";
import type { ApplyTransition } from "../domain/transition.ts";
import type { Caller, GenerationRecord } from "../domain/types.ts";
import type { StreamEvent } from "../domain/webhooks.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { KeyRow, StoreReads } from "../store/store.ts";
import { type AccountEventsDeps, createAccountEvents, MAX_BEHIND, newestTransferNo } from "./account-events.ts";
import { createGenerationEvents, findPosition } from "./generation-events.ts";
import { createPositions, type Position } from "./positions.ts";
import { EventStream, type Taken } from "./stream.ts";

export type EventStreamsDeps = {
  watch: CommitListener;
  reads: AccountEventsDeps["reads"] &
    Pick<StoreReads, "eventsOf" | "generationBySeq" | "versionsAmong" | "key" | "account" | "findGeneration">;
  resourceOf: AccountEventsDeps["resourceOf"];
  cursors: Cursors;
  clock: Clock;
  soon: (then: () => void) => void;
  /** Aborted when the service drains: all streams end. */
  closing: AbortSignal;
  /** Other nodes may change generations. */
  isShared: boolean;
};

/** A stream that was requested. It takes its place when it is opened, until its client leaves. */
export type Prepared = { open: (signal: AbortSignal) => ReadableStream<Uint8Array> };
export type EventStreams = {
  /**
   * The events of a generation after `lastEventId` (null: from the beginning). @returns null if no further event follows.
   * @throws ApiError `invalid_request` for an id that is no event of the generation
   */
  ofGeneration: (caller: Caller, generation: GenerationRecord, lastEventId: string | null) => Promise<Prepared | null>;
  /** The events of the account of these types after `lastEventId` (null: from now). @throws ApiError `invalid_request` */
  ofAccount: (caller: Caller, types: ReadonlySet<StreamEvent>, lastEventId: string | null) => Promise<Prepared>;
  /** Whether the key of the caller submitted a generation. */
  isOfKey: (caller: Caller, generation: GenerationRecord) => Promise<boolean>;
};

const MAX_OF_ACCOUNT = 100;
const MAX_STREAMS = 1000;
const RETRY_S = 5;
const REMOTE_POLL_MS = 1000;

const UNKNOWN_OF_GENERATION =
  "Last-Event-ID: is no id of an event of this generation; send an id of this stream, or omit the header.";
const UNKNOWN_OF_ACCOUNT =
  "Last-Event-ID: is no id of this stream; send an id that it sent to this account, or omit the header to begin now.";
const TOO_OLD = `Last-Event-ID: more than ${MAX_BEHIND} transfers of the account follow it; omit the header to begin now.`;

/** An open stream with what concerns it. `version`: the last one that was seen, of the generation. */
type Open = { stream: EventStream; caller: Caller; generationSeq: number | null; version: number };
type Source = { take: () => Promise<Taken>; ping?: () => string };

/** Mutations after which a caller may no longer read. */
const CHANGES_CALLERS: ReadonlySet<Mutation["mutation"]> = new Set(["revoke-key", "set-key", "rotate-key", "set-account"]);

const isKeyLimited = ({ models, limits }: KeyRow): boolean =>
  models !== null || Object.values(limits).some((limit) => limit !== null);

/** Whether a key may still read. @param isWhole the stream is about the whole account, for keys without limits */
const createIsAllowed =
  ({ reads, clock }: Pick<EventStreamsDeps, "reads" | "clock">) =>
  async ({ keyId, accountId }: Caller, isWhole: boolean): Promise<boolean> => {
    const [key, account] = await Promise.all([reads.key(keyId), reads.account(accountId)]);
    if (!key || key.revokedAtMs !== null || !account || account.paused) return false;
    if (key.expiresAtMs !== null && clock.nowMs() >= key.expiresAtMs) return false;
    return !isWhole || !isKeyLimited(key);
  };

/** The open streams, woken by commits of this node and by changes of others. */
const createRegistry = ({ watch, reads, clock, closing, isShared }: EventStreamsDeps) => {
  const all = new Set<Open>();
  let isPolling = false;

  const onStep = (mutation: ApplyTransition, { seq, accountSeq }: GenerationRecord): void => {
    const { status, message, attempts } = mutation;
    if (status === undefined && message === undefined && attempts === undefined) return;
    for (const { stream, caller, generationSeq } of all) {
      const concerns = generationSeq === null ? status !== undefined && caller.accountSeq === accountSeq : generationSeq === seq;
      if (concerns) stream.changed();
    }
  };
  const onCommit = (mutation: Mutation, outcome: MutationResult): void => {
    if (mutation.mutation === "step" && outcome.kind === "stepped") onStep(mutation, outcome.record);
    else if (mutation.mutation === "pay-purchase" && outcome.kind === "purchase") {
      for (const { stream, caller, generationSeq } of all)
        if (generationSeq === null && caller.accountId === outcome.purchase?.accountId) stream.changed();
    } else if (CHANGES_CALLERS.has(mutation.mutation)) for (const { stream } of all) stream.check();
  };
  const readRemote = async (): Promise<void> => {
    const open = [...all];
    const seqs = open.flatMap(({ generationSeq }) => generationSeq ?? []);
    const versions = await reads.versionsAmong([...new Set(seqs)]);
    for (const one of open) {
      const version = one.generationSeq === null ? one.version + 1 : (versions.get(one.generationSeq) ?? 0);
      if (version !== one.version) one.stream.changed();
      one.version = version;
    }
  };
  const pollWhileOpen = async (): Promise<void> => {
    isPolling = true;
    while (all.size > 0) {
      await new Promise<void>((next) => clock.after(REMOTE_POLL_MS, next));
      // A failed read is repeated after a second.
      await readRemote().catch(() => undefined);
    }
    isPolling = false;
  };
  closing.addEventListener("abort", () => {
    for (const { stream } of [...all]) stream.end();
  });
  return {
    add: (open: Open): void => {
      all.add(open);
      watch.committed = onCommit;
      if (isShared && !isPolling) void pollWhileOpen();
    },
    remove: (open: Open): void => {
      all.delete(open);
      if (all.size === 0) watch.committed = null;
    },
  };
};

const createOpening = (deps: EventStreamsDeps) => {
  const places = createPlaces<number>({ ofOwner: MAX_OF_ACCOUNT, inAll: MAX_STREAMS });
  const isAllowed = createIsAllowed(deps);
  const registry = createRegistry(deps);
  /** @throws ApiError `concurrency_limit`, `restarting` */
  const takePlace = (accountSeq: number): void => {
    if (deps.closing.aborted) refuse("restarting", "The service is draining; connect again.");
    const full = places.take(accountSeq);
    if (full === null) return;
    const whose = full === "owner" ? `of the account, which are at most ${MAX_OF_ACCOUNT}` : "of all accounts";
    refuse("concurrency_limit", `Too many event streams ${whose}; close one, or connect later.`, { retryAfterS: RETRY_S });
  };
  /** @param generationSeq null: a stream about the whole account */
  return (caller: Caller, generationSeq: number | null, source: Source): Prepared => ({
    open: (signal) => {
      takePlace(caller.accountSeq);
      const stream: EventStream = new EventStream(
        deps,
        {
          ...source,
          isAllowed: () => isAllowed(caller, generationSeq === null),
          onEnd: () => {
            registry.remove(open);
            places.release(caller.accountSeq);
          },
        },
        signal,
      );
      const open: Open = { stream, caller, generationSeq, version: 0 };
      registry.add(open);
      return stream.body;
    },
  });
};

export const createEventStreams = (deps: EventStreamsDeps): EventStreams => {
  const { reads, resourceOf, clock } = deps;
  const prepare = createOpening(deps);
  const positions = createPositions(deps.cursors);
  const accountDeps: AccountEventsDeps = { reads, resourceOf, positions, nowMs: clock.nowMs, isShared: deps.isShared };

  const positionOf = async (accountId: string, lastEventId: string): Promise<Position> => {
    const position = positions.read(accountId, lastEventId) ?? refuse("invalid_request", UNKNOWN_OF_ACCOUNT);
    const behind = (await newestTransferNo(reads, accountId)) - position.transferNo;
    // A restored backup does not have what was sent after it.
    if (behind < 0) return refuse("invalid_request", UNKNOWN_OF_ACCOUNT);
    return behind > MAX_BEHIND ? refuse("invalid_request", TOO_OLD) : position;
  };

  return {
    ofGeneration: async (caller, generation, lastEventId) => {
      const position = lastEventId === null ? undefined : await findPosition(reads, generation, lastEventId);
      if (position === null) return refuse("invalid_request", UNKNOWN_OF_GENERATION);
      if (position?.isOver) return null;
      const source = createGenerationEvents({ reads, resourceOf }, generation, position?.sequence ?? -1);
      return prepare(caller, generation.seq, source);
    },
    ofAccount: async (caller, types, lastEventId) => {
      const position = lastEventId === null ? null : await positionOf(caller.accountId, lastEventId);
      const source = await createAccountEvents(accountDeps, caller, types, position);
      return prepare(caller, null, { take: () => source.take(), ping: () => source.ping() });
    },
    isOfKey: async ({ keyId }, { id }) => (await reads.findGeneration(id))?.key.id === keyId,
  };
};
