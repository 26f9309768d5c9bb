// The named points of a crash: for each, where the process dies, what must be on disk then, and how it all ends.
import type { Attempt, AttemptState, GenerationStatus } from "../../src/domain/types.ts";

/** What is found on disk after the last kill. `null`: there is no generation. */
export type Found = {
  status: GenerationStatus;
  attempt: AttemptState | null;
  /** Durable deadlines. */
  deadline: string | null;
  message: string | null;
} | null;

export type Point = {
  /** Where the process dies, and what is special about this point. */
  name: string;
  model?: "vidmodel-2.0-fast" | "sim-speech-1" | "sim-lipsync-1";
  /** Words for the simulator in the prompt. */
  script?: string;
  /**
   * Places in `service.ts` to die at, one start of the service after the other; or what the simulator is seen to have
   * received, upon which the parent kills.
   */
  dies: readonly string[] | "submitted" | "draining";
  found: Found;
  /** Submissions of this generation that the simulator has on its log when the process is dead. */
  submittedBefore: 0 | 1;
  /** Whether the submission, sent again with its key, makes a new generation (202) or finds its own (200). */
  retried: 200 | 202;
  /** How it ends: routes tried, and submissions on the simulator's log in all. */
  ends: { attempts: 1 | 2; submissions: 1 | 2 };
  /** What else must hold of the attempt at the kill. */
  also?: (attempt: Attempt) => boolean;
  /** The journal says that the provider was asked before anything else was done. */
  confirms?: true;
  /** Polls the simulator may have seen of the job at the kill. */
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
const once = { attempts: 1, submissions: 1 } as const;

export const POINTS: readonly Point[] = [
  {
    name: "before A commits: nothing is there, and the same key makes a new generation",
    dies: ["before:admit"],
    found: null,
    submittedBefore: 0,
    retried: 202,
    ends: once,
  },
  {
    name: "after A, before the 202: the key finds the generation that nobody was told of",
    dies: ["after:admit"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "after A, before `start` ran: it runs at boot",
    dies: ["before:step/begun"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "after A, before its links are pinned: they are fetched at boot, and nothing was sent before",
    model: "sim-lipsync-1",
    dies: ["before:step/pinned"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "its links pinned, before a seat: it goes on from the copy",
    model: "sim-lipsync-1",
    dies: ["after:step/pinned"],
    found: queued,
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "its links pinned, the request with a link of ours on disk, not out: proved absent by its input, never sent again on that route",
    model: "sim-lipsync-1",
    dies: ["after:step/slotTaken"],
    found: sending,
    submittedBefore: 0,
    retried: 200,
    ends: { attempts: 2, submissions: 1 },
    confirms: true,
  },
  {
    name: "answer read, before D (found by its input, which holds a link of ours): the job is found again",
    model: "sim-lipsync-1",
    dies: ["before:step/accepted"],
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
    confirms: true,
  },
  {
    name: "between B and C, just after B: an intent is sent",
    dies: ["after:step/begun"],
    found: inState("intent", "submit"),
    submittedBefore: 0,
    retried: 200,
    ends: once,
  },
  {
    name: "between B and C, just before C: an intent is sent",
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
    name: "after bytes, before the answer, accepted (found by marker): the job is found and not sent twice",
    script: "[sim:slow-answer=9000]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "after bytes, before the answer, accepted (found by its input): the job is found and not sent twice",
    model: "sim-speech-1",
    script: "[sim:slow-answer=9000]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "after bytes, before the answer, not accepted: proved absent, the next route delivers",
    script: "[sim:modelark:hang]",
    dies: "submitted",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: { attempts: 2, submissions: 2 },
    confirms: true,
  },
  {
    name: "answer read, before D (found by marker): the job is found again",
    dies: ["before:step/accepted"],
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "answer read, before D (found by its input): the job is found again",
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
    name: "poll answered done, before it was noted: polled again",
    dies: ["before:step/announced"],
    found: inState("accepted", "attempt"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ results }) => results === null,
    polls: (polls) => polls > 0,
  },
  {
    name: "poll answered done and noted, before the files: fetched after the restart",
    dies: ["after:step/announced"],
    found: inState("accepted", "collect"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
    also: ({ results }) => results !== null,
  },
  {
    name: "files kept, before E: collected again and charged once",
    dies: ["before:step/collected"],
    found: inState("accepted", "collect"),
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "after E, before the client polls: the next poll shows it",
    dies: ["after:step/collected"],
    found: { status: "succeeded", attempt: "delivered", deadline: null, message: null },
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "during drain, with an answer awaited: as any other crash",
    script: "[sim:slow-answer=9000]",
    dies: "draining",
    found: sending,
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
  {
    name: "during boot recovery, again and again: before it reads, before and after it writes",
    dies: ["before:step/accepted", "read:unfinished", "before:step/interrupted", "read:unfinished", "after:step/interrupted"],
    found: { status: "running", attempt: "sending", deadline: "attempt", message: "Confirming the result with the provider." },
    submittedBefore: 1,
    retried: 200,
    ends: once,
  },
];
