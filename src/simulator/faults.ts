// All faults by name, with their stage and their default parameter.
//
// A submit fault also defines whether a job exists after it.
import type { Json, JsonObject } from "../domain/types.ts";
import { OTHER_KINDS, type OtherKind } from "./rare-formats.ts";

/**
 * `submit` faults affect the response to a submission, `run` the job, `poll` the responses to polls, `file` the result, `list`
 * the list, `cancel` the cancellation, `upload` the uploads of input files. `kind` delivers another kind of file, `transfer` changes the way the file is sent. Faults of different stages can be
 * combined.
 */
export const STAGES = ["submit", "run", "poll", "file", "kind", "transfer", "list", "cancel", "upload"] as const;
export type Stage = (typeof STAGES)[number];

type FaultRule = {
  stage: Stage;
  says: string;
  /** Submit faults: whether the job is accepted nevertheless. */
  accepts?: boolean;
  /** The parameter that a prompt tag can set, and its default. */
  number?: readonly [name: string, byDefault: number];
};

/** Each other kind of file is a separate fault. */
const KINDS = Object.fromEntries(
  Object.entries(OTHER_KINDS).map(([word, { says }]) => [word, { stage: "kind", says: `delivers ${says}` }]),
) as { [word in OtherKind]: { stage: "kind"; says: string } };

export const FAULTS = {
  drop: { stage: "submit", says: "reads the submission, accepts nothing and breaks the connection" },
  hang: { stage: "submit", says: "accepts nothing and never answers" },
  "5xx": { stage: "submit", says: "answers a server error and accepts nothing", number: ["status", 503] },
  "429": { stage: "submit", says: "answers that there were too many requests", number: ["retry_after_s", 1] },
  "401": { stage: "submit", says: "does not know the credential" },
  "402": { stage: "submit", says: "says that the balance is used up" },
  "403": { stage: "submit", says: "does not allow the model to this account" },
  "404": { stage: "submit", says: "does not know the model" },
  invalid: { stage: "submit", says: "answers 422: the input is not valid for the model" },
  "drop-after": { stage: "submit", accepts: true, says: "accepts the job and breaks the connection instead of answering" },
  "hang-after": { stage: "submit", accepts: true, says: "accepts the job and never answers" },
  "5xx-after": { stage: "submit", accepts: true, says: "accepts the job and answers a server error", number: ["status", 502] },
  rubbish: { stage: "submit", accepts: true, says: "accepts the job and answers 200 with a page that is not JSON" },
  "no-id": { stage: "submit", accepts: true, says: "accepts the job and answers without its id" },
  cut: { stage: "submit", accepts: true, says: "accepts the job and breaks off in the middle of the answer" },
  "slow-answer": { stage: "submit", accepts: true, says: "accepts the job and answers after a while", number: ["ms", 3000] },

  refuse: { stage: "run", says: "refuses the input as against its content rules" },
  "refuse-output": { stage: "run", says: "makes it, then refuses to hand it out" },
  withheld: {
    stage: "run",
    says: "makes it and withholds it, in the words of its safety filter; where these are flags, they stand beside a file, and where it bills such work, it says so",
  },
  "no-path": { stage: "run", says: "takes a path that there is not, is done at once, and says so in the result (fal)" },
  fail: { stage: "run", says: "fails as soon as it is asked about" },
  "fail-later": { stage: "run", says: "fails when its time is over" },
  "input-unreachable": { stage: "run", says: "could not download the input media" },
  aborted: { stage: "run", says: "is stopped by the provider half way" },
  stuck: { stage: "run", says: "never ends" },
  slow: { stage: "run", says: "takes longer", number: ["factor", 5] },
  late: { stage: "run", says: "delivers, but only after much longer", number: ["factor", 20] },
  "late-ms": { stage: "run", says: "delivers after exactly so many milliseconds, whatever the speed", number: ["ms", 60_000] },

  forget: { stage: "poll", says: "knows no such job after so many polls", number: ["after_polls", 1] },
  "unknown-status": { stage: "poll", says: "reports an unknown status for so many polls", number: ["polls", 3] },
  "poll-5xx": { stage: "poll", says: "answers polls with a server error, so many times", number: ["polls", 3] },
  "poll-429": { stage: "poll", says: "answers that there were too many polls, so many times", number: ["polls", 3] },
  "poll-drop": { stage: "poll", says: "breaks the connection of polls, so many times", number: ["polls", 3] },
  "poll-hang": { stage: "poll", says: "never answers polls, so many times", number: ["polls", 1] },
  "poll-rubbish": { stage: "poll", says: "answers polls with a page, so many times", number: ["polls", 3] },
  "poll-huge": { stage: "poll", says: "answers polls with so many megabytes of JSON", number: ["mb", 64] },
  "result-5xx": {
    stage: "poll",
    says: "reports done, but answers the result with a server error, so many times",
    number: ["polls", 2],
  },
  "early-done": { stage: "poll", says: "reports done before the result is there, so many times", number: ["polls", 2] },
  "out-of-order": { stage: "poll", says: "reports done, then running again, so many times", number: ["polls", 3] },

  "no-file": { stage: "file", says: "announces success without a file" },
  missing: { stage: "file", says: "announces a file that is not there" },
  expired: { stage: "file", says: "announces a link that is over (403; `expired=410` for gone)", number: ["status", 403] },
  unreadable: { stage: "file", says: "delivers noise of the right length" },
  html: { stage: "file", says: "delivers an error page with status 200" },
  empty: { stage: "file", says: "delivers no bytes" },
  "wrong-kind": { stage: "file", says: "delivers a picture for a clip, or a clip for a picture" },
  short: { stage: "file", says: "delivers only a share of the length", number: ["share", 0.5] },
  long: { stage: "file", says: "delivers so many times the length", number: ["share", 1.5] },
  small: { stage: "file", says: "delivers only a share of the width and the height", number: ["share", 0.5] },
  "wrong-aspect": { stage: "file", says: "delivers another shape: on its side, or wide for a square" },
  silent: { stage: "file", says: "delivers a clip without a sound track" },
  fewer: { stage: "file", says: "delivers fewer files", number: ["files", 1] },
  truncated: { stage: "file", says: "delivers the first part of the file as if it were all" },
  "file-cut": {
    stage: "file",
    says: "breaks the connection in the middle of the file, so many times",
    number: ["fetches", 1_000_000],
  },
  "file-5xx": { stage: "file", says: "answers the file with a server error, so many times", number: ["fetches", 2] },
  elsewhere: { stage: "file", says: "announces the address given as `url`" },
  redirect: { stage: "file", says: "redirects the download of the file to the address given as `url`" },

  json: { stage: "file", says: "delivers an error in JSON with status 200" },

  ...KINDS,

  gzip: { stage: "transfer", says: "sends the file compressed, as `Content-Encoding` says" },
  deflate: { stage: "transfer", says: "sends the file compressed, as `Content-Encoding` says" },
  br: { stage: "transfer", says: "sends the file compressed, as `Content-Encoding` says" },
  zstd: { stage: "transfer", says: "sends the file compressed, as `Content-Encoding` says" },
  "misnamed-coding": {
    stage: "transfer",
    says: "sends the file as it is under `Content-Encoding: aws-chunked`, or the `coding` given",
  },
  "no-length": { stage: "transfer", says: "sends the file without saying how long it is" },
  "wrong-type": { stage: "transfer", says: "calls the file application/octet-stream, or the `type` given" },
  "slow-file": { stage: "transfer", says: "sends the file after a while", number: ["ms", 1000] },

  "cancel-ignored": { stage: "cancel", says: "confirms the cancellation, and completes the job all the same" },

  "upload-401": { stage: "upload", says: "does not know the credential of an upload" },
  "upload-413": { stage: "upload", says: "answers that an uploaded file is too large" },
  "upload-5xx": { stage: "upload", says: "answers an upload with a server error", number: ["status", 500] },
  "upload-drop": { stage: "upload", says: "breaks the connection of an upload" },
  "upload-hang": { stage: "upload", says: "never answers an upload" },
  "upload-slow": { stage: "upload", says: "answers an upload after a while", number: ["ms", 1000] },
  "upload-cut": { stage: "upload", says: "breaks off in the middle of the answer to an upload" },
  "upload-no-id": { stage: "upload", says: "stores an upload and answers without its address or id" },
  "storage-5xx": {
    stage: "upload",
    says: "answers the second request of an upload, to the storage host, with a server error",
    number: ["status", 503],
  },

  "list-5xx": { stage: "list", says: "answers the listing with a server error", number: ["status", 503] },
  "list-hang": { stage: "list", says: "never answers the listing" },
} as const satisfies Record<string, FaultRule>;

export type FaultName = keyof typeof FAULTS;
/** The fault of a request, with its parameters. */
export type Fault = { name: FaultName; [param: string]: Json };
/** At most one fault per stage. */
export type Faults = { [stage in Stage]?: Fault };

export const isFaultName = (name: unknown): name is FaultName => typeof name === "string" && Object.hasOwn(FAULTS, name);

export const ruleOf = (name: FaultName): FaultRule => FAULTS[name];

/** A fault with its default parameter. `params` may contain further ones, for example `url`. */
export const makeFault = (name: FaultName, params: JsonObject = {}): Fault => {
  const [number, byDefault] = ruleOf(name).number ?? [];
  return { ...(number === undefined ? {} : { [number]: byDefault ?? 0 }), ...params, name };
};

/** A numeric parameter of a fault; its default if the parameter is not a number. */
export const numberOf = (fault: Fault, param: string): number => {
  const value = fault[param];
  return typeof value === "number" ? value : (ruleOf(fault.name).number?.[1] ?? 0);
};

export const isFault = <N extends FaultName>(fault: Fault | undefined, ...names: N[]): fault is Fault & { name: N } =>
  fault !== undefined && (names as FaultName[]).includes(fault.name);
