// Submission response of a dialect: its job, its files, or its failure.
import type { Job } from "../../domain/types.ts";
import { isGivenUrl, readNoJob } from "../parse-response.ts";
import type { AdapterContext, ProviderResponse, SubmitOutcome } from "../port.ts";
import type { Judge } from "./error-rules.ts";
import { DialectError, type Scope, writtenReading } from "./placeholders.ts";
import { seekOf, textAt } from "./pointers.ts";
import { jobNameOf, readFilesOf } from "./responses.ts";
import { withheldFlag } from "./result-metadata.ts";
import type { Dialect } from "./schema.ts";
import { within } from "./template.ts";

type SubmitTemplate = Dialect["submit"];
type Accepted = NonNullable<SubmitTemplate["accepted"]>;

/** Compiles the reading of a job in a response. @throws DialectError */
const jobReading = (accepted: Accepted) => {
  const id = seekOf(accepted.job_id);
  const pointers = { poll: accepted.poll_url, result: accepted.result_url, cancel: accepted.cancel_url };
  const given = Object.entries(pointers).flatMap(([name, at]) => (at === undefined ? [] : [[name, seekOf(at)] as const]));
  const { poll_path: path } = accepted;
  const way =
    path === undefined ? undefined : within("accepted/poll_path", () => writtenReading(path, ["job", "route"], encodeURI));
  /** Adds the status address to a job whose response contained none. */
  const located = (job: Job, scope: Scope, baseUrl: string): Job => {
    const below = way?.({ ...scope, job: { id: job.jobId } });
    return below === undefined ? job : { ...job, urls: { poll: `${baseUrl}${below}`, ...job.urls } };
  };
  const read = (r: ProviderResponse, scope: Scope, baseUrl: string): Job | undefined => {
    const jobId = jobNameOf(id(r));
    if (jobId === undefined) return undefined;
    const urls = Object.fromEntries(
      given.flatMap(([name, seek]) => {
        const url = textAt(seek(r));
        return isGivenUrl(url) ? [[name, url]] : [];
      }),
    );
    return located(Object.keys(urls).length === 0 ? { jobId } : { jobId, urls }, scope, baseUrl);
  };
  return { read, located };
};

/**
 * Whether a response contains the location of files, and no file there. Any other response was possibly paid for, so it does not
 * count as empty.
 */
const emptyPlace = (results: SubmitTemplate["results"] = []) => {
  const pointers = results.flatMap(({ at = [] }) => at);
  const places = [...new Set(pointers.map((pointer) => pointer.split("/").slice(0, 2).join("/")))].map((place) => seekOf(place));
  const files = pointers.map((pointer) => seekOf(pointer));
  return (r: ProviderResponse): boolean =>
    places.some((seek) => seek(r).length > 0) && files.every((seek) => seek(r).length === 0);
};

export type Submission = {
  /** Whether the response names a job to poll, instead of the result. */
  isAwaited: boolean;
  /** A found job with its status address, if that address depends on the input. */
  located(job: Job, scope: Scope, baseUrl: string): Job;
  read(r: ProviderResponse, c: AdapterContext, scope: Scope): SubmitOutcome;
};

/** @throws DialectError */
export const submissionOf = (template: SubmitTemplate, judge: Judge): Submission => {
  const { accepted, results, empty, withheld, job_id: ownId } = template;
  if ((accepted === undefined) === (results === undefined)) throw new DialectError("requires either accepted or results");
  const jobIn = accepted && jobReading(accepted);
  const files = within("results", () => readFilesOf(results));
  const isWithheld = within("withheld", () => withheldFlag(withheld));
  const isLeftOut = within("results", () => emptyPlace(results));
  const own = ownId === undefined ? undefined : seekOf(ownId);

  const turnedDown = (r: ProviderResponse): SubmitOutcome => {
    const verdict = judge.verdict(r, "submitting");
    return readNoJob(r, judge.words(r), verdict?.class, verdict?.provesNotAccepted);
  };

  return {
    isAwaited: accepted !== undefined,
    located: jobIn?.located ?? ((job) => job),
    read: (r, c, scope) => {
      if (r.status < 200 || r.status >= 300) return turnedDown(r);
      if (jobIn) {
        const job = jobIn.read(r, scope, c.baseUrl);
        return job === undefined ? turnedDown(r) : { kind: "accepted", job };
      }
      // A result can accompany the report that it is withheld; the report decides.
      if (judge.verdict(r, "submitting") !== undefined) return turnedDown(r);
      if (isWithheld(r))
        return { kind: "rejected", failure: { class: "refused_output", detail: judge.words(r) || "withheld by its filter" } };
      const found = files(r, scope, c.baseUrl);
      // Not every synchronous provider names its job. The result is already present, so our reference serves as the job id.
      if (found.length > 0) return { kind: "announced", job: { jobId: (own && jobNameOf(own(r))) ?? c.ref }, results: found };
      if (empty === undefined || !isLeftOut(r)) return turnedDown(r);
      return { kind: "rejected", failure: { class: empty, detail: judge.words(r) || "the answer holds no file" } };
    },
  };
};
