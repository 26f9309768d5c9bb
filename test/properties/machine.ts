// Property of the machine: for any events through the real host and store, ledger, history and deadline stay valid.
import { type Actor, createActor } from "xstate";
import { applyEvent } from "../../actors/generation/apply-event.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import {
  deadlineOf,
  effectsOnRestore,
  eventOf,
  freeze,
  type GenerationSnapshot,
  isStaleDeadline,
  leafOf,
  thaw,
} from "../../actors/generation/snapshot.ts";
import type { GenerationEvent, MachineOutput } from "../../actors/generation/types.ts";
import { ActorHost, type HostDeps } from "../../actors/supervisor/actor-host.ts";
import { DEADLINE_GRACE_MS, hasGrace } from "../../actors/supervisor/deadline-grace.ts";
import { restoreGeneration } from "../../actors/supervisor/restore.ts";
import { MAY_HAVE_DELIVERED } from "../../src/admin/generations.ts";
import { StoreFull, StoreUnknown } from "../../src/domain/commit-errors.ts";
import { generationId } from "../../src/domain/ids.ts";
import type { ApplyTransition, OpenGeneration } from "../../src/domain/transition.ts";
import type { PlannedRoute } from "../../src/domain/types.ts";
import { createAttemptCache } from "../../src/generations/attempt-cache.ts";
import { COLLECT_MS, STARTED_AT_MS, WAIT_MS } from "../machine/explore.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { type CommitEnd, eventOfMove, type MachineLife, type MachineMove, machineLives, PLANS } from "./machine-lives.ts";
import { openMachineModel } from "./machine-model.ts";
import { type MachineStore, machineImage, openMachineStore, ROUNDS } from "./machine-store.ts";
import type { Property } from "./property.ts";

const KEEP_FILES_MS = 1000;
const same = (what: string, seen: unknown, wanted: unknown): void => {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
};

/** The same machine with the same events, but never frozen, passivated or restored. */
const openTwin = (seq: number, plan: readonly PlannedRoute[]) => {
  const sayings: MachineOutput[] = [];
  const input = { plan, waitEndsAtMs: STARTED_AT_MS + WAIT_MS, collectMs: COLLECT_MS };
  const actor: Actor<typeof generationMachine> = createActor(generationMachine, { input });
  actor.start();
  actor.on("*", (saying) => sayings.push(saying));
  let version = 0;
  return {
    snapshot: (): GenerationSnapshot => actor.getSnapshot(),
    report: (event: GenerationEvent) => {
      const before = actor.getSnapshot();
      actor.send(event);
      const step = applyEvent(seq, version + 1, event, before, actor.getSnapshot(), sayings.splice(0), KEEP_FILES_MS);
      if (step) version += 1;
      return step;
    },
  };
};

/** Restoring a generation does not restart its deadline; one that is due within the deadline grace is moved to its end. */
const checkTakenUp = (found: OpenGeneration, nowMs: number): void => {
  if (found.snapshot === null) return;
  const deadline = restoreGeneration(found, found.snapshot, nowMs, nowMs).deadlineFrom(nowMs);
  const { deadline: stored } = found;
  const isDueSoon = stored !== null && hasGrace(stored) && stored.dueAtMs > nowMs && stored.dueAtMs <= nowMs + DEADLINE_GRACE_MS;
  same("the deadline taken up", deadline, isDueSoon ? { ...stored, dueAtMs: nowMs + DEADLINE_GRACE_MS } : stored);
};

/** Empty reads behind the attempt cache, so that only cached attempts are found. */
const NOWHERE = { attempt: async () => undefined, inputOf: async () => undefined, orderedOf: async () => null };

/** Checks that the cached attempts of a transition equal the stored ones. */
const checkRemembered = async (
  store: MachineStore,
  attempts: ReturnType<typeof createAttemptCache>,
  { seq, attemptChanges }: ApplyTransition,
) => {
  for (const { n } of attemptChanges) {
    const remembered = await attempts.find(seq, n);
    const stored = remembered && (await store.attempt(seq, n));
    if (!Bun.deepEquals(remembered, stored)) same("an attempt in memory", remembered, stored);
  }
};

/** A generation with its host, which may be dropped at any moment and restored from disk. */
const openSubject = async (store: MachineStore, accountSeq: number, plan: readonly PlannedRoute[]) => {
  const seq = newGenerationSeq(STARTED_AT_MS);
  const id = generationId(seq);
  store.admit({ seq, id, accountSeq, plan });
  let posted: ApplyTransition | null = null;
  let asks: unknown = [];
  let end: CommitEnd | null = null;
  let nowMs = STARTED_AT_MS;
  let lost: string | null = null;
  let attempts = createAttemptCache(NOWHERE);
  const parts: HostDeps = {
    collectMs: COLLECT_MS,
    keepFilesMs: KEEP_FILES_MS,
    post: async (mutation) => {
      if (end === "lost") throw new StoreUnknown("planted: never written");
      if (end === "full") {
        end = null;
        throw new StoreFull("planted: no space, once");
      }
      posted = mutation;
      const outcome = store.step(mutation);
      if (end === "written") throw new StoreUnknown("planted: written all the same");
      if (outcome.kind === "stepped") {
        attempts.stepped(mutation, outcome.record.requestId);
        same("the record that a step answers with", outcome.record, await store.record(seq));
      }
      return outcome;
    },
    space: async () => undefined,
    nowMs: () => nowMs,
    reread: store.resting,
    unread: (_, __, fault) => Promise.reject(fault),
    woke: () => undefined,
    dealtWith: () => undefined,
    rested: () => undefined,
    isWanted: () => true,
    unused: () => undefined,
    late: () => undefined,
    stepped: (_, __, ___, wanted) => {
      asks = wanted;
    },
    lost: (_, reason) => {
      lost = reason;
    },
  };
  const wake = async (nowMs: number) => {
    const resting = await store.resting(seq);
    if (resting) checkTakenUp(resting, nowMs);
    const woken = new ActorHost({ seq, id, accountSeq }, parts);
    if (resting) woken.wake(resting);
    else woken.end();
    return woken;
  };
  let host = await wake(STARTED_AT_MS);
  return {
    seq,
    id,
    /** Sends an event. @returns the mutation that reached the disk, and the effects after it. */
    report: async (event: GenerationEvent, how: CommitEnd | null) => {
      nowMs = event.atMs;
      posted = null;
      asks = null;
      end = how;
      host.send(event);
      await host.idle();
      end = null;
      if (lost?.startsWith("planted")) {
        host = await wake(event.atMs);
        attempts = createAttemptCache(NOWHERE);
      } else if (lost !== null) throw new Error(`the host gave up: ${lost}`);
      else if (posted) await checkRemembered(store, attempts, posted);
      lost = null;
      return { posted, asks };
    },
    crash: async (nowMs: number) => {
      host.end();
      host = await wake(nowMs);
      attempts = createAttemptCache(NOWHERE);
    },
    passivate: () => void host.passivate(),
  };
};

/** Job ids and references are unique: each generation has different ones. */
const own = (event: GenerationEvent, id: string): GenerationEvent => {
  if (event.type === "accepted" || event.type === "announced" || event.type === "settledByOperator")
    return event.job ? { ...event, job: { jobId: `job-${id}-${event.n}` } } : event;
  return event.type === "begun" ? { ...event, ref: `${id.slice("gen_".length)}-${event.n}` } : event;
};

/**
 * An operator's decision as the admin service passes it on: with whether the stored last attempt has a job, and null for a
 * settlement of an attempt that cannot have delivered.
 */
const asTheAdmin = async (store: MachineStore, seq: number, event: GenerationEvent, tried: number) => {
  if (event.type === "retriedByOperator") {
    const last = tried > 0 ? await store.attempt(seq, tried) : undefined;
    return { ...event, hasJob: last?.job != null };
  }
  const settled = event.type === "settledByOperator" ? await store.attempt(seq, event.n) : undefined;
  return settled && !MAY_HAVE_DELIVERED.has(settled.state) ? null : event;
};

/** Whether an event is that of a state's deadline. */
const isOfDeadline = (snapshot: GenerationSnapshot, event: GenerationEvent): boolean => {
  const deadline = deadlineOf(snapshot);
  return deadline !== null && eventOf(deadline, 0).type === event.type;
};

/** Whether an event is about a known attempt: the current one or a watched one; an operator may settle any that began. */
const isKnown = ({ context }: GenerationSnapshot, { type, n }: { type: GenerationEvent["type"]; n: number }): boolean =>
  context.current?.n === n ||
  context.watched.some((attempt) => attempt.n === n) ||
  (type === "settledByOperator" && n <= context.tried);

const checkRestorable = (frozen: string, plan: readonly PlannedRoute[], wanted: GenerationSnapshot): void => {
  const restored = thaw(frozen, plan);
  same("a snapshot through JSON", freeze(restored), frozen);
  same("where it is", leafOf(restored), leafOf(wanted));
  same("what it asks for again", effectsOnRestore(restored), effectsOnRestore(wanted));
  same("its deadline", deadlineOf(restored), deadlineOf(wanted));
};

const playLife = async (store: MachineStore, round: number, { plan: index, moves }: MachineLife): Promise<number> => {
  const plan = PLANS[index] ?? [];
  const subject = await openSubject(store, round + 1, plan);
  const model = openMachineModel(plan);
  const twin = openTwin(subject.seq, plan);
  const reported: GenerationEvent[] = [];
  let nowMs = STARTED_AT_MS;
  let events = 0;

  const report = async (move: Extract<MachineMove, { pick: number }>) => {
    nowMs += move.waitMs;
    const before = twin.snapshot();
    const event = eventOfMove(move, index, before, reported, nowMs);
    if (!event) return;
    // A deadline fires when it is due; a stale deadline may fire as well and is ignored.
    if (isOfDeadline(before, event)) nowMs = Math.max(nowMs, deadlineOf(before)?.dueAtMs ?? 0);
    const mine = await asTheAdmin(store, subject.seq, own({ ...event, atMs: nowMs }, subject.id), before.context.tried);
    if (!mine) return;
    reported.push(mine);
    events += 1;
    const changes = store.changes();
    const { posted, asks } = await subject.report(mine, move.end);
    // After the end the twin has stopped and emits nothing.
    const isHeard = move.end !== "lost" && before.status === "active" && !isStaleDeadline(before, mine);
    const step = isHeard ? twin.report(mine) : null;
    same(`what ${mine.type} wrote`, posted, step?.mutation ?? null);
    if (!posted || !step) {
      same(`rows touched by ${mine.type} without a step`, store.changes(), changes);
      return;
    }
    if ("n" in mine && mine.type !== "begun" && !isKnown(before, mine))
      throw new Error(`${mine.type} of the unknown attempt ${mine.n} made a transition`);
    if (move.end === null || move.end === "full") same(`what ${mine.type} asked for`, asks, step.effects);
    const after = twin.snapshot();
    const n = after.context.current?.n ?? 0;
    const seen = store.seen(subject.seq, round + 1);
    const faults = model.stepped(mine, step.mutation.stateAfter, n, seen);
    if (faults.length > 0) throw new Error(`after ${JSON.stringify(mine)}: ${faults.join("; ")}`);
    if (step.mutation.snapshot === null) return;
    checkRestorable(step.mutation.snapshot, plan, after);
    // Attempts that may still deliver are watched again after every restart.
    const asked = effectsOnRestore(after).flatMap((ask) => ("n" in ask ? [ask.n] : []));
    const unasked = seen.attempts.filter(({ n: watched, watchUntilMs }) => watchUntilMs !== null && !asked.includes(watched));
    same("attempts watched in the store but without an effect after a restart", unasked, []);
  };

  for (const move of moves) {
    if (move.move === "crash") await subject.crash(nowMs);
    else if (move.move === "passivate") subject.passivate();
    else if ("pick" in move) await report(move);
  }
  return events;
};

const openPlayer = () => {
  const image = machineImage();
  let store: MachineStore | null = null;
  let round = 0;
  let events = 0;
  const finish = () => {
    const ended = store;
    store = null;
    round = 0;
    ended?.verifyAndClose();
  };
  return {
    figures: () => ({ events }),
    play: async (life: MachineLife): Promise<void> => {
      if (round >= ROUNDS) finish();
      const here = store ?? openMachineStore(image);
      const before = store === null ? 0 : round;
      // A failed life leaves a database that is not used again.
      store = null;
      events += await playLife(here, before, life);
      store = here;
      round = before + 1;
    },
    finish,
  };
};

export const machineProperty: Property<MachineLife> = {
  name: "machine",
  says: "keeps the ledger, history and single deadline of a generation valid for any events, in any order, over restarts",
  runsOf: (runs) => runs,
  arbitrary: machineLives,
  open: openPlayer,
};
