// The named crash points: where the process dies, what must be on disk then, and how the generation ends.
import type { Attempt, AttemptState, GenerationStatus } from "../../src/domain/types.ts";

/** The state on disk after the last kill. `null`: there is no generation. */
export type Found = {
  status: GenerationStatus;
  attempt: AttemptState | null;
  /** Durable deadlines. */
  deadline: string | null;
  message: string | null;
} | null;

export type Point = {
  /** Where the process dies, and what this point checks. */
  name: string;
  model?: "vidmodel-2.0-fast" | "sim-speech-1" | "sim-lipsync-1";
  /** Markers for the simulator in the prompt. */
  script?: string;
  /**
   * Places in `service.ts` at which successive starts die, or what the simulator must have received before the parent
   * process kills the service.
   */
  dies: readonly string[] | "submitted" | "draining";
  found: Found;
  /** Submissions of this generation in the simulator's log when the process is dead. */
  submittedBefore: 0 | 1;
  /** Whether the repeated submission with its key creates a new generation (202) or finds its own (200). */
  retried: 200 | 202;
  /** The end: routes tried, and all submissions in the simulator's log. */
  ends: { attempts: 1 | 2; submissions: 1 | 2 };
  /** A further condition on the attempt at the kill. */
  also?: (attempt: Attempt) => boolean;
  /** The stored events must show that the provider was queried before anything else. */
  confirms?: true;
  /** The result may also have been stored alone, which depends on the speed of the machine: it is played again then. */
  isTogether?: true;
  /** A condition on the polls of the job that the simulator has received at the kill. */
  polls?: (polls: number) => boolean;
};

const queued: Found = { status: "queued", attempt: null, deadline: "start", message: null };
const inState = (attempt: AttemptState, command: string): Found => ({
  status: "running",
  attempt,
  deadline: command,
  message: null,
});
const sending = inState("sending", "attempt");
/** Longer than an announcement waits for its files, so that it is stored alone. */
const SLOW_FILE = "[sim:slow-file=3000]";
const once = { attempts: 1, submissions: 1 } as const;

/** A settlement E that also stores the result, and one after the result. `deadline`: what is stored if nothing of E is. */
export type Settlement = { name: string; script?: string; deadline: "attempt" | "collect" };
export const SETTLEMENTS: readonly Settlement[] = [
  { name: "inside E with the result: all of it is stored or nothing", deadline: "attempt" },
  { name: "inside E after the result: all of it is stored or nothing", script: SLOW_FILE, deadline: "collect" },
];

export const POINTS: readonly Point[] = [
  {
    name: "before A commits: nothing is stored, and the same key creates a new generation",
    dies: ["before:admit"],
    found: null,
    submittedBefore: 0,
    retried: 202,
    ends: once,
  },
  {
    name: "after A, before the 202: the key finds the generation whose response was lost",
    dies: ["after:admit"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "after A, before the attempt begins: the next start begins it",
    dies: ["before:step/begun"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "just before B and C are stored together, with a slot in use: the next start begins the attempt",
    dies: ["before:step/slotTaken"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "after A, before its links are pinned: the next start fetches them, and nothing was sent before",
    model: "sim-lipsync-1",
    dies: ["before:step/pinned"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "links pinned, before a place in the run queue: the next start continues with the pinned copy",
    model: "sim-lipsync-1",
    dies: ["after:step/pinned"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "links pinned, request stored but not sent: proved absent by its input, never sent again on that route",
    model: "sim-lipsync-1",
    dies: ["after:step/slotTaken"],
    found: sending,
    submittedBefore: 0,
    retried: 200,
    ends: { attempts: 2, submissions: 1 },
    confirms: true,
  },
  {
    name: "response read, before D (found by its input with a link of ours): the job is found again",
    model: "sim-lipsync-1",
    dies: ["before:step/accepted"],
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
    confirms: true,
  },
  {
    name: "between B and C, just after B (its files are prepared in between): the intent is sent",
    model: "sim-lipsync-1",
    dies: ["after:step/begun"],
    found: inState("intent", "submit"),
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "between B and C, just before C (its files are prepared in between): the intent is sent",
    model: "sim-lipsync-1",
    dies: ["before:step/slotTaken"],
    found: inState("intent", "submit"),
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "after C, before bytes leave (found by marker): confirmed, proved absent, never sent again on that route",
    dies: ["after:step/slotTaken"],
    found: sending,
    submittedBefore: 0,
    retried: 200,
    ends: { attempts: 2, submissions: 1 },
    confirms: true,
  },
  {
    name: "after C, before bytes leave (found by its input): confirmed, proved absent, never sent again on that route",
    model: "sim-speech-1",
    dies: ["after:step/slotTaken"],
    found: sending,
    submittedBefore: 0,
    retried: 200,
    ends: { attempts: 2, submissions: 1 },
  },
  {
    name: "bytes sent, before the response, accepted (found by marker): the job is found and not submitted twice",
    script: "[sim:slow-answer=9000]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "bytes sent, before the response, accepted (found by its input): the job is found and not submitted twice",
    model: "sim-speech-1",
    script: "[sim:slow-answer=9000]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "bytes sent, before the response, not accepted: proved absent, the next route delivers",
    script: "[sim:modelark:hang]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: { attempts: 2, submissions: 2 },
    confirms: true,
  },
  {
    name: "response read, before D (found by marker): the job is found again",
    dies: ["before:step/accepted"],
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "response read, before D (found by its input): the job is found again",
    model: "sim-speech-1",
    dies: ["before:step/accepted"],
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "after D, before the first poll: polled after the restart",
    dies: ["after:step/accepted"],
    found: inState("accepted", "attempt"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ job }) => job !== null,
    polls: (polls) => polls === 0,
  },
  {
    name: "poll returned done, before it was stored alone: polled again",
    script: SLOW_FILE,
    dies: ["before:step/announced"],
    found: inState("accepted", "attempt"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ results }) => results === null,
    polls: (polls) => polls > 0,
  },
  {
    name: "poll returned done and its files are stored, before both are committed together: polled and collected again",
    isTogether: true,
    dies: ["before:step/collected"],
    found: inState("accepted", "attempt"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ results }) => results === null,
    polls: (polls) => polls > 0,
  },
  {
    name: "poll returned done and stored alone, before the files: collected after the restart",
    script: SLOW_FILE,
    dies: ["after:step/announced"],
    found: inState("accepted", "collect"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ results }) => results !== null,
  },
  {
    name: "files stored after the result, before E: collected again and charged once",
    script: SLOW_FILE,
    dies: ["before:step/collected"],
    found: inState("accepted", "collect"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "after E, before the client polls: the next poll returns the result",
    dies: ["after:step/collected"],
    found: { status: "succeeded", attempt: "delivered", deadline: null, message: null },
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "during a drain with a pending response: the same as any other crash",
    script: "[sim:slow-answer=9000]",
    dies: "draining",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "during recovery, repeatedly: before it reads, before and after it writes",
    dies: ["before:step/accepted", "read:unfinished", "before:step/interrupted", "read:unfinished", "after:step/interrupted"],
    found: { status: "running", attempt: "sending", deadline: "attempt", message: "Confirming the result with the provider." },
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
];
