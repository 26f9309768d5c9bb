// Property of polling: for any responses of a provider in any order, only a proof ends polling or confirmation.
import fc from "fast-check";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Attempt } from "../../src/domain/types.ts";
import { createCollect } from "../../src/effects/collect.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createJobLookup } from "../../src/effects/job-lookup.ts";
import { createPoll } from "../../src/effects/poll.ts";
import type { UsualEnd } from "../../src/effects/poll-schedule.ts";
import { createTaskRunner } from "../../src/effects/task-runner.ts";
import type { FindOutcome, PollOutcome } from "../../src/providers/port.ts";
import type { Property } from "./property.ts";

type Said =
  | "pending"
  | "ask-result"
  | "unclear"
  | "gone"
  | "announced"
  | "failed"
  | "unreadable"
  | "absent"
  | "found"
  | "another's";
/** One response: its duration, and the offset of the service's clock from the machine's at that time. */
type Answer = { said: Said; tookMs: number; aheadMs: number };
/** `watch` is an attempt without a job at a provider whose lookup submits again: no request is allowed. */
type Talk = {
  asks: "poll" | "confirm" | "watch";
  answers: Answer[];
  sentAgoMs: number;
  /** The age of this process when the response is given up; whether it sent the request itself. */
  livedMs: number;
  isOwn: boolean;
  settleMs: number;
  windowMs: number;
  /** When jobs of the route usually end, if that is known. */
  usual?: UsualEnd | undefined;
};

const tookMs = fc.oneof(fc.nat(2_000), fc.constantFrom(0, 15_000, 60_000, 100_000));
const answersFrom = (...said: Said[]) =>
  fc.array(
    fc.record({ said: fc.constantFrom(...said), tookMs, aheadMs: fc.constantFrom(0, 0, 0, 0, 59_999, -60_000, 600_000) }),
    { maxLength: 30, size: "max" },
  );
const talks: fc.Arbitrary<Talk> = fc.oneof(
  fc.record({
    asks: fc.constant("poll" as const),
    // Mostly responses that prove nothing.
    answers: answersFrom(
      "pending",
      "ask-result",
      "unclear",
      "unclear",
      "gone",
      "gone",
      "gone",
      "gone",
      "announced",
      "failed",
      "unreadable",
    ),
    ...{ sentAgoMs: fc.constant(0), settleMs: fc.constant(0), windowMs: fc.constant(0) },
    usual: fc.option(fc.record({ fromMs: fc.nat(200_000), toMs: fc.nat(200_000) }), { nil: undefined }),
    ...{ livedMs: fc.constant(0), isOwn: fc.constant(false) },
  }),
  fc.record({
    asks: fc.constant("confirm" as const),
    answers: answersFrom("absent", "absent", "absent", "absent", "unclear", "another's", "found"),
    sentAgoMs: fc.nat(300_000),
    ...{ livedMs: fc.constantFrom(0, 400_000), isOwn: fc.boolean() },
    settleMs: fc.constantFrom(0, 30_000, 120_000),
    windowMs: fc.constantFrom(60_000, 600_000, 10_000_000),
  }),
  fc.record({
    asks: fc.constant("watch" as const),
    ...{ answers: fc.constant<Answer[]>([]), sentAgoMs: fc.nat(300_000), settleMs: fc.constant(0), windowMs: fc.nat(3_600_000) },
    ...{ livedMs: fc.constant(0), isOwn: fc.constant(false) },
  }),
);

/** When the response of a lost submission was given up and confirmation began. */
const BEGAN_MS = 1_790_000_000_000;
const GONE_MS = 60_000;
/** The first and the longest interval of polls, ms. */
const POLL_EVERY_MS: [number, number] = [1_000, 20_000];
const SLACK_MS = 60_000;

/** A response and its time. */
type Heard = Answer & { atMs: number };

/** The event that the responses so far prove, by the rules of §3; null while they prove nothing. */
const proofOf = ({ asks, sentAgoMs, livedMs, isOwn, settleMs, windowMs }: Talk, heard: readonly Heard[]): string | null => {
  const last = heard.at(-1);
  if (asks === "watch" && last) return "nothing asked";
  if (!last) return null;
  /** The last responses of one kind in a row. */
  const row = heard.slice(heard.findLastIndex(({ said }) => said !== last.said) + 1);
  if (asks === "poll") {
    if (last.said === "announced" || last.said === "unreadable") return "announced";
    if (last.said === "failed") return "jobFailed job_failed";
    // From the first response to the last request: a response that was read late was not sent late.
    const isGone = last.said === "gone" && row.length >= 3 && last.atMs - last.tookMs - (row[0]?.atMs ?? 0) >= GONE_MS;
    return isGone ? "jobFailed gone" : null;
  }
  if (last.said === "found") return "accepted";
  // A lookup with a wrong clock proves nothing, and neither does time before this process or before the response was given up.
  const settlesFromMs = BEGAN_MS - (isOwn ? 0 : Math.min(sentAgoMs, livedMs));
  const proves = ({ aheadMs, atMs, tookMs }: Heard) => Math.abs(aheadMs) < SLACK_MS && atMs - tookMs - settlesFromMs >= settleMs;
  if (last.said === "absent" && row.slice(-2).length === 2 && row.slice(-2).every(proves)) return "provedAbsent";
  return last.atMs - (BEGAN_MS - sentAgoMs) >= windowMs ? "meansExhausted" : null;
};

/** A clock that moves to the next pending timer. */
const openClock = (bornMs: number) => {
  let nowMs = bornMs;
  let aheadMs = 0;
  let timers: { dueAtMs: number; then: () => void }[] = [];
  const after = (ms: number, then: () => void) => {
    const timer = { dueAtMs: nowMs + Math.max(0, ms), then };
    timers.push(timer);
    return () => {
      timers = timers.filter((one) => one !== timer);
    };
  };
  return {
    clock: { nowMs: () => nowMs, after, aheadMs: () => aheadMs },
    begin: () => {
      nowMs = BEGAN_MS;
    },
    turn: (ms: number) => {
      aheadMs = ms;
    },
    /** Runs all pending microtasks, then fires the next timer. */
    step: async (): Promise<void> => {
      for (let hop = 0; hop < 30; hop += 1) await null;
      const next = timers.toSorted((a, b) => a.dueAtMs - b.dueAtMs)[0];
      timers = timers.filter((one) => one !== next);
      if (!next) return;
      nowMs = Math.max(nowMs, next.dueAtMs);
      next.then();
    },
  };
};

const outcomeOf = (said: Said): PollOutcome | FindOutcome => {
  switch (said) {
    case "pending":
      return { kind: "pending", seen: "running" };
    case "unclear":
      return { kind: "unclear", detail: "502" };
    case "announced":
      return { kind: "announced", results: [{ url: "https://files.example/1" }] };
    case "failed":
      return { kind: "failed", failure: { class: "job_failed", detail: "" } };
    case "unreadable":
      return { kind: "failed", failure: { class: "result_unreadable", detail: "" } };
    case "found":
    case "another's":
      return { kind: "found", job: { jobId: said } };
    default:
      return { kind: said };
  }
};

/** Polls slow down while a provider does not answer them, whatever is known about the usual end of its jobs. */
const checkPause = ({ asks }: Talk, heard: readonly Heard[], requestedAtMs: number): void => {
  const last = heard.at(-1);
  if (asks !== "poll" || last?.said !== "unclear") return;
  const [firstMs, longestMs] = POLL_EVERY_MS;
  const leastMs = Math.min(longestMs, firstMs * 1.5 ** heard.length);
  const pauseMs = requestedAtMs - last.atMs;
  if (pauseMs < leastMs) throw new Error(`polled ${pauseMs} ms after an unclear response, not ${leastMs} ms`);
};

const nameOf = (event: GenerationEvent): string => (event.type === "jobFailed" ? `jobFailed ${event.failure.class}` : event.type);

const playTalk = async (talk: Talk): Promise<void> => {
  const { clock, begin, turn, step } = openClock(BEGAN_MS - talk.livedMs);
  const heard: Heard[] = [];
  const reported: GenerationEvent[] = [];
  const faults: unknown[] = [];
  // After the given responses, the next response ends the exchange.
  const last: Answer = { said: talk.asks === "poll" ? "announced" : "found", tookMs: 0, aheadMs: 0 };
  const answer = async () => {
    checkPause(talk, heard, clock.nowMs());
    const next = talk.answers[heard.length] ?? last;
    await new Promise<void>((resolve) => clock.after(next.tookMs, resolve));
    turn(next.aheadMs);
    heard.push({ ...next, atMs: clock.nowMs() });
    return outcomeOf(next.said);
  };
  const attempt = {
    ...{
      n: 1,
      ref: "ref-1",
      sentAtMs: BEGAN_MS - talk.sentAgoMs,
      watchUntilMs: talk.asks === "watch" ? BEGAN_MS + talk.windowMs : null,
    },
    job: talk.asks === "watch" ? null : { jobId: "job" },
    results: null,
    route: { routeId: "r", provider: "p", endpoint: "", options: {}, kind: "image" },
  } as unknown as Attempt;
  const { settleMs, windowMs } = talk;
  const parts = {
    ...{ clock, log: () => undefined, judge: () => undefined, pace: 1, chance: () => 0.5 },
    reads: {
      attempt: async () => attempt,
      orderedOf: async () => null,
      inputOf: async () => ({ raw: {}, filled: {} }),
      jobOwner: async (_: string, jobId: string) => (jobId === "another's" ? { seq: 2, n: 1 } : undefined),
    },
    providers: {
      ...{ poll: answer, find: answer },
      traits: () => ({
        recovery: talk.asks === "watch" ? "key" : "list_match",
        pollEveryMs: POLL_EVERY_MS,
        pollLeastMs: 500,
        findSettleMs: settleMs,
        findWindowMs: windowMs,
      }),
    },
    restored: null,
    noticed: () => undefined,
    usualEnd: () => talk.usual,
    media: {
      keepInline: async (_: string, results: unknown[]) => results,
      collect: async () => ({ kind: "unreadable", detail: "" }),
    },
    report: (_: number, event: GenerationEvent) => reported.push(event),
  } as unknown as EffectsDeps;
  const tasks = createTaskRunner(clock, (_, __, ___, fault) => faults.push(fault));
  const finding = createJobLookup(parts);
  begin();
  if (talk.isOwn) finding.answerLost(1, 1);
  createPoll(parts, tasks, { finding, collecting: createCollect(parts, tasks) })[talk.asks](1, 1);

  for (let steps = 0; reported.length === 0 && steps < 1_000; steps += 1) {
    if (faults.length > 0) throw faults[0];
    const proof = proofOf(talk, heard.slice(0, -1));
    if (proof !== null) throw new Error(`after ${JSON.stringify(heard.slice(0, -1))} it should have been ${proof}`);
    await step();
  }
  // Not awaited: a pending response waits for a clock that no longer moves.
  void tasks.stopAll();
  const [first] = reported;
  const proof = talk.asks === "watch" && heard.length === 0 ? "meansExhausted" : proofOf(talk, heard);
  if (!first || nameOf(first) !== proof)
    throw new Error(`after ${JSON.stringify(heard)} it is ${first ? nameOf(first) : "nothing"}, not ${proof}`);
};

export const askingProperty: Property<Talk> = {
  name: "asking",
  says: "ends polling or confirmation only on proof: repeated responses over enough time prove a job gone or absent. Unclear ones slow polls",
  runsOf: (runs) => runs,
  arbitrary: talks,
  open: () => ({ play: playTalk }),
};
