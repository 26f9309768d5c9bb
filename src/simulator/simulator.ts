// Provider simulator: an HTTP server with the providers' dialects and real files.

import { type Clock, systemClock } from "../domain/clock.ts";
import { createSandbox, type Sandbox } from "../media/sandbox/sandbox.ts";
import { type Bench, noteOnce } from "./accept-job.ts";
import { createCallbackSender } from "./callbacks.ts";
import { baseUrlsAt, SIMULATED_DIALECTS } from "./dialect-registry.ts";
import { type ActiveRule, createFaultScript, type Rule, readRule } from "./fault-script.ts";
import { FAULTS, isFault, numberOf } from "./faults.ts";
import { type Answer, json, listen, page, type SimulatorRequest, text } from "./http-server.ts";
import { createJobResults } from "./job-results.ts";
import { createJobs, endsAtMs, type Job, type JobState } from "./jobs.ts";
import { openLog, type Submission } from "./log.ts";
import { createMediaFactory } from "./media-factory.ts";
import { type DefaultsOf, type KindOf, kindByName } from "./parse-request.ts";
import { answerSample } from "./samples.ts";
import { createUploadStorage } from "./upload-storage.ts";

export type { ActiveRule, Rule } from "./fault-script.ts";
export type { Submission } from "./log.ts";
export type { KindOf } from "./parse-request.ts";

export type SimulatorOptions = {
  host?: string;
  /** 0, the default, uses a free port. */
  port?: number;
  /** 1, the default: an image in about 2 s, a 5 s clip in about 6 s, sound in about 2 s. 100 is a hundred times faster. */
  speed?: number;
  /** File of the durable log; null, the default, keeps it in memory. An existing file is continued, including its jobs. */
  log?: string | null;
  /** Determines durations, variants and the outcomes of rules with a probability. */
  seed?: number;
  clock?: Clock;
  /** The kind of an endpoint's results; if undefined, names and fields determine it. */
  kindOf?: KindOf;
  /** Defaults of an endpoint for values that its requests omit, such as `{ resolution: "1080p" }`. */
  unsaid?: DefaultsOf;
  /** The sandbox that reads received files; absent: separate processes of this simulator. */
  sandbox?: Pick<Sandbox, "run">;
};

/** The public view of a job. Times in ms since 1970; `endsAtMs` is null if the job never ends. */
export type JobView = Pick<
  Job,
  "id" | "provider" | "endpoint" | "ref" | "acceptedAtMs" | "polls" | "fetches" | "faults" | "received" | "inputs"
> & {
  state: JobState;
  endsAtMs: number | null;
};

export type Simulator = {
  url: string;
  /** Base URL of each dialect, by the provider's id. */
  baseUrls: Readonly<Record<string, string>>;
  /** Base URL of the fal dialect. */
  falUrl: string;
  /** Base URL of the Replicate dialect, including `/v1`. */
  replicateUrl: string;
  jobs(): JobView[];
  /** Every received submission, in order; with a log file, also those of former processes. */
  submissions(): Submission[];
  /** Adds a rule to the script. */
  script(rule: Rule): ActiveRule;
  /** Removes all rules. */
  clearScript(): void;
  stop(): Promise<void>;
};

const viewOf = (bench: Bench, job: Job): JobView => {
  const { id, provider, endpoint, ref, acceptedAtMs, polls, fetches, faults, received, inputs } = job;
  const end = endsAtMs(job);
  const state = bench.jobs.state(job);
  return {
    id,
    provider,
    endpoint,
    ref,
    acceptedAtMs,
    polls,
    fetches,
    faults,
    received,
    inputs,
    state,
    endsAtMs: Number.isFinite(end) ? end : null,
  };
};

/** The maximum number of processes that read received files. */
const READERS = 2;

/** Paths that also accept WebSockets. */
const LINES = new Set(Object.values(SIMULATED_DIALECTS).flatMap(({ base, hasSockets }) => (hasSockets ? [base] : [])));

const INDEX = {
  providers: Object.fromEntries(
    Object.entries(SIMULATED_DIALECTS).map(([id, { base, credential }]) => [id, `${base} (${credential})`]),
  ),
  samples: "/samples/clip-6s.mp4, /samples/picture.png, /samples/voice.mp3",
  script: "GET, POST or DELETE /script; or [sim:FAULT], [sim:fal:FAULT], [sim:owner/app:FAULT], [sim:FAULT=NUMBER] in a prompt",
  log: "/log, /jobs",
  faults: Object.fromEntries(Object.entries(FAULTS).map(([name, { stage, says }]) => [name, `${stage}: ${says}`])),
};

/** `/script`: rules as JSON, one or a list. */
const answerScript = (bench: Bench, request: SimulatorRequest): Answer => {
  if (request.method === "GET") return json(200, { rules: bench.script.list() });
  if (request.method === "DELETE") {
    bench.script.clear();
    return json(200, { rules: [] });
  }
  let declared: unknown;
  try {
    declared = JSON.parse(new TextDecoder().decode(request.body));
  } catch {
    return json(400, { error: "the body is not JSON" });
  }
  const rules = (Array.isArray(declared) ? declared : [declared]).map(readRule);
  const wrong = rules.find((rule) => typeof rule === "string");
  if (wrong !== undefined) return json(422, { error: wrong });
  return json(201, { rules: rules.filter((rule) => typeof rule !== "string").map((rule) => bench.script.add(rule)) });
};

/** A request to the storage host of all providers. */
const answerUpload = (bench: Bench, request: SimulatorRequest, path: string): Answer => {
  const isSent = request.method === "PUT" || request.method === "POST";
  const { upload } = isSent ? bench.script.choose({ provider: "storage", endpoint: "", prompt: "" }, ["upload"]) : {};
  if (isFault(upload, "storage-5xx")) return page(numberOf(upload, "status"), "Service Unavailable");
  return bench.uploads.answer(request, path);
};

/** Starts a simulator. @throws the system's error if the address or the log file cannot be opened. */
export const createSimulator = async (options: SimulatorOptions = {}): Promise<Simulator> => {
  const { host = "127.0.0.1", port = 0, speed = 1, seed = 1, kindOf = kindByName, unsaid } = options;
  const clock = options.clock ?? systemClock();
  const log = await openLog(options.log ?? null);
  const mediaFactory = createMediaFactory();
  const own = createSandbox({ workers: READERS });
  const sandbox = options.sandbox ?? own;
  let count = log.lines().filter(({ type }) => type === "submission").length;
  const bench: Bench = {
    clock,
    speed,
    seed,
    kindOf,
    log,
    jobs: createJobs(clock, log.lines()),
    script: createFaultScript(seed),
    results: createJobResults({ kindOf, mediaFactory, sandbox, nowMs: () => clock.nowMs(), ...(unsaid ? { unsaid } : {}) }),
    uploads: createUploadStorage(),
    callbacks: createCallbackSender(clock),
    next: () => ++count,
  };

  const answerFile = async (request: SimulatorRequest, path: string): Promise<Answer> => {
    const [, id = "", n = ""] = /^\/([\w-]+)\/output-(\d+)\.\w+$/.exec(path) ?? [];
    const job = bench.jobs.byId(id);
    const answer = await bench.results.deliver(request, job, Number(n));
    if (job && answer.kind === "reply" && answer.status === 200 && request.method === "GET")
      await noteOnce(bench, job, "fetched");
    return answer;
  };

  // The longest first, because one base path can be a prefix of another.
  const handlers = Object.values(SIMULATED_DIALECTS)
    .flatMap(({ base, alias, speak }) => [base, ...(alias === undefined ? [] : [alias])].map((place) => ({ place, speak })))
    .toSorted((a, b) => b.place.length - a.place.length);
  const answer = async (request: SimulatorRequest): Promise<Answer> => {
    const { path } = request;
    const handler = handlers.find(({ place }) => path.startsWith(`${place}/`) || path === place);
    if (handler) return handler.speak(bench, request, path.slice(handler.place.length) || "/");
    if (path.startsWith("/files/")) return answerFile(request, path.slice("/files".length));
    if (path.startsWith("/uploads/")) return answerUpload(bench, request, path.slice("/uploads".length));
    if (path.startsWith("/samples/")) return answerSample(mediaFactory, request, path.slice("/samples/".length));
    if (path === "/script") return answerScript(bench, request);
    if (path === "/jobs") return json(200, { jobs: bench.jobs.all().map((job) => viewOf(bench, job)) });
    if (path === "/log")
      return text(
        200,
        log
          .lines()
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(""),
        "application/x-ndjson",
      );
    if (path === "/healthz") return text(200, "ok\n");
    return path === "/" ? json(200, INDEX) : text(404, "not found; see /\n");
  };

  const server = await listen({ host, port }, answer, clock, (path) => LINES.has(path));
  const baseUrls = baseUrlsAt(server.url);
  return {
    url: server.url,
    baseUrls,
    falUrl: baseUrls.fal ?? "",
    replicateUrl: baseUrls.replicate ?? "",
    jobs: () => bench.jobs.all().map((job) => viewOf(bench, job)),
    submissions: () => log.lines().filter((line) => line.type === "submission"),
    script: (rule) => bench.script.add(rule),
    clearScript: () => void bench.script.clear(),
    stop: async () => {
      bench.callbacks.stop();
      await server.close();
      await own.close();
      await log.close();
    },
  };
};
