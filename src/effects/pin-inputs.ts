// Pins inputs before the first attempt and transfers the copies to each provider.
//
// The bytes that are measured are the bytes that are sent.
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Failure, GivenAs, InputFile, Pin, PinnedCopy } from "../domain/types.ts";
import { linkAt } from "../inputs/pinned-links.ts";
import type { ChosenForm } from "../inputs/provider-inputs.ts";
import type { PinOutcome } from "../media/port.ts";
import type { Work } from "../providers/port.ts";
import type { InputSource } from "../providers/prepared-request.ts";
import type { Uploaded } from "../providers/uploads.ts";
import { type EffectsDeps, namesOf, STORAGE_PAUSE_MS, spreadMs } from "./deps.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** Retries of a link that did not answer, within its time limit. */
const TRIES = 3;
const AGAIN_MS = 2_000;
/** Longest pause in milliseconds while our storage rejects the file; the file is fetched again each time. */
const MAX_STORAGE_PAUSE_MS = 300_000;
/** Retries of an upload to a provider, which buys nothing. */
const UPLOAD_TRIES = 3;

/**
 * How the provider receives the files, and the replacement of each link in the request; computed when the request is composed.
 */
export type Given = { as: GivenAs; links: () => Record<string, string> };

/**
 * A pinned copy or a stored file of an attempt's input: the link that it replaces, its properties, and how its bytes are opened.
 * `linkMime`: the path of a link to it ends in the extension of this type, because some providers detect the format by it.
 */
type GivenFile = Pick<PinnedCopy, "n" | "sha256" | "bytes" | "mime"> & {
  link: string;
  kind: InputFile["kind"];
  source: InputSource;
  linkMime?: string;
};

const givenFiles = ({ pins = [], files = [], attempt, input }: Work): GivenFile[] => [
  ...pins.flatMap(({ field, kind, copy }): GivenFile[] => {
    const link = linkAt(input.raw, field);
    if (!copy || link === undefined) return [];
    const { n, sha256, bytes, mime } = copy;
    return [{ link, kind, n, sha256, bytes, mime, source: { generationId: namesOf(attempt).generation_id, copy } }];
  }),
  ...files.flatMap((file): GivenFile[] => {
    const link = linkAt(input.raw, file.field);
    if (link === undefined) return [];
    const { kind, n, sha256, bytes, mime } = file;
    return [{ link, kind, n, sha256, bytes, mime, source: { file }, linkMime: mime }];
  }),
];

/** The form to report for an attempt whose files have several. */
const reportedForm = (forms: readonly ChosenForm[]): GivenAs =>
  (["upload", "inline"] as const).find((as) => forms.some((form) => form.as === as)) ?? "link";

export type Pinning = {
  pin(seq: number): void;
  /** Stops downloads for an ended generation. */
  ended(seq: number): void;
  /**
   * Transfers the copies and the stored files of an attempt's inputs, as far as required before the request is written.
   * @returns the replacements; undefined without such inputs; null after it reported why the attempt cannot be sent.
   */
  give(task: Task, work: Work): Promise<Given | undefined | null>;
};

export const createPinInputs = (deps: EffectsDeps, tasks: TaskRunner): Pinning => {
  const { clock, media, reads, giving, providers } = deps;

  /** Fetches one link, however long our storage rejects it; null if it was stopped. */
  const fetchOne = async (task: Task, wanted: Parameters<typeof media.pin>[0]) => {
    let refusals = 0;
    for (let round = 1; ; ) {
      const outcome: PinOutcome = await media.pin(wanted, task.signal);
      if (task.signal.aborted || outcome.kind === "called-off") return null;
      if (outcome.kind === "storage-refused")
        await task.pause(spreadMs(deps, STORAGE_PAUSE_MS, MAX_STORAGE_PAUSE_MS, refusals++));
      else if (outcome.kind === "pinned" || !outcome.mayPass || round >= TRIES) return outcome;
      else {
        round += 1;
        await task.pause(AGAIN_MS / deps.pace);
      }
    }
  };

  const pinRequest = async (seq: number, pin: Pin) => {
    const [record, input] = await Promise.all([reads.generationBySeq(seq), reads.inputOf(seq)]);
    const url = input && linkAt(input.raw, pin.field);
    if (!record || url === undefined) throw new Error(`generation ${seq} has no ${pin.field} to pin`);
    const { copy, ...requested } = pin;
    return {
      ...requested,
      url,
      generationId: record.id,
      accountSeq: record.accountSeq,
      ...(copy ? { sha256: copy.sha256 } : {}),
    };
  };

  const pinAll = async (task: Task): Promise<void> => {
    const { seq } = task;
    const copies: PinnedCopy[] = [];
    // Links are fetched one after the other: a generation takes one slot at a time, and the first rejected link decides.
    for (const pin of await reads.pinsOf(seq)) {
      const outcome = await fetchOne(task, await pinRequest(seq, pin));
      if (outcome === null) return;
      const atMs = clock.nowMs();
      if (outcome.kind === "refused") return deps.report(seq, { type: "pinRefused", why: `${pin.field}: ${outcome.why}.`, atMs });
      copies.push(outcome.copy);
    }
    deps.report(seq, { type: "pinned", copies, atMs: clock.nowMs() });
  };

  /**
   * Ensures that every copy exists. A missing one, for example in a restored backup, is fetched again and must be the same file.
   */
  const restore = async (task: Task, pins: readonly Pin[], generationId: string): Promise<boolean> => {
    for (const pin of pins) {
      if (pin.copy && (await media.hasCopy(generationId, pin.copy))) continue;
      const outcome = await fetchOne(task, await pinRequest(task.seq, pin));
      if (outcome === null) return false;
      if (outcome.kind === "pinned") continue;
      const why = `${pin.field}: ${outcome.kind === "refused" ? outcome.why : "it cannot be had"}.`;
      deps.report(task.seq, { type: "pinLost", n: task.n, why, atMs: clock.nowMs() });
      return false;
    }
    return true;
  };

  /** Ensures that every stored file exists. A restored backup may lack one. */
  const requireFiles = async (task: Task, files: readonly InputFile[]): Promise<boolean> => {
    for (const file of files) {
      if (await deps.hasFile(file)) continue;
      const why = `${file.field}: the stored file is missing.`;
      deps.report(task.seq, { type: "pinLost", n: task.n, why, atMs: clock.nowMs() });
      return false;
    }
    return true;
  };

  /** Uploads a file for one attempt. A second copy at the provider costs nothing. */
  const upload = async (task: Task, { attempt }: Work, file: GivenFile, form: number): Promise<Uploaded> => {
    const { ref } = attempt;
    const { provider, routeId } = attempt.route;
    for (let round = 1; ; round += 1) {
      const bytes = await deps.openInput(file.source);
      if (!bytes) return { failure: { class: "input_unreachable", detail: "the file of an input is deleted" }, mayPass: false };
      const sent = { file: bytes, mime: file.mime, ref, n: file.n };
      const done = await providers.upload(provider, form, sent, task.signal);
      if ("value" in done || round >= UPLOAD_TRIES || !done.mayPass || task.signal.aborted) return done;
      deps.log("unrecognized provider response", {
        ...namesOf(attempt),
        route_id: routeId,
        provider,
        detail: done.failure.detail,
      });
      await task.pause(AGAIN_MS / deps.pace);
      if (task.signal.aborted) return done;
    }
  };

  const unsendable = (task: Task, failure: Failure): null => {
    deps.report(task.seq, { type: "unsendable", n: task.n, failure, atMs: clock.nowMs() });
    return null;
  };

  /** A link is valid for the route timeout from its creation. */
  const signed = async ({ attempt: { seq, ref, route } }: Work) => {
    const planned = (await reads.planOf(seq))?.plan.find(({ routeId }) => routeId === route.routeId);
    const base = giving.linkBase(route.provider);
    return ({ n, linkMime }: GivenFile) => deps.signInput(base, ref, n, clock.nowMs() + (planned?.timeoutMs ?? 0), linkMime);
  };

  /** Uploads the files that the provider receives in its storage; null after it reported a failure. */
  const uploadAll = async (task: Task, work: Work, files: readonly GivenFile[], forms: readonly ChosenForm[]) => {
    const values = new Map<GivenFile, string>();
    for (const [at, file] of files.entries()) {
      const form = forms[at];
      if (form?.as !== "upload") continue;
      const done = await upload(task, work, file, form.form);
      if (task.signal.aborted) return null;
      if ("failure" in done) {
        const verdict = verdictOf(done.failure.class);
        if (verdict) deps.judge(work.attempt.route.routeId, verdict, done.failure, done.isOfAccount);
        return unsendable(task, done.failure);
      }
      values.set(file, done.value);
    }
    return values;
  };

  /** The replacement of each link in the request; null after it reported why there is none. */
  const placed = async (task: Task, work: Work, files: readonly GivenFile[], forms: readonly ChosenForm[]) => {
    const sign = await signed(work);
    const uploaded = await uploadAll(task, work, files, forms);
    if (uploaded === null) return null;
    const { provider } = work.attempt.route;
    return (file: GivenFile, form: ChosenForm): string => {
      if (form.as === "link") return sign(file);
      // The bytes are inserted on sending; the written request names them.
      return form.as === "inline" ? providers.placeOf(provider, form.form, file) : (uploaded.get(file) ?? "");
    };
  };

  return {
    pin: (seq) => tasks.run(seq, 0, "pin", pinAll),
    ended: (seq) => tasks.letGo(seq, 0),
    give: async (task, work) => {
      const { pins = [], files = [], attempt } = work;
      if (pins.length + files.length === 0) return undefined;
      if (!(await restore(task, pins, namesOf(attempt).generation_id)) || task.signal.aborted) return null;
      if (!(await requireFiles(task, files)) || task.signal.aborted) return null;
      const given = givenFiles(work);
      const choice = giving.choose(attempt.route.provider, given);
      if (!("forms" in choice))
        return unsendable(task, {
          class: "invalid_for_route",
          detail: `${choice.why}: see files.provider_links and media.unpinned`,
        });
      const { forms } = choice;
      const place = await placed(task, work, given, forms);
      if (place === null) return null;
      const links = () =>
        Object.fromEntries(given.flatMap((file, at) => (forms[at] ? [[file.link, place(file, forms[at])]] : [])));
      return { as: reportedForm(forms), links };
    },
  };
};
