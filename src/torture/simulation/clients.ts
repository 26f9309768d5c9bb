// Clients of a simulated world: submit, repeat, poll and record all responses.

import type { Catalogue } from "../../../catalogue/load.ts";
import type { ApiError } from "../../domain/api-errors.ts";
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { AdminResult } from "../../domain/mutations.ts";
import type { GenerationRecord, JsonObject } from "../../domain/types.ts";
import type { Cancellation } from "../../generations/cancel.ts";
import type { SubmitResult } from "../../generations/submit.ts";
import { callerOf } from "./callers.ts";
import { createRequests } from "./client-requests.ts";
import type { Faults } from "./faults.ts";
import type { Node } from "./node-environment.ts";
import type { Rng } from "./rng.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** A request that a client plans to submit. */
export type PlannedRequest = {
  name: string;
  account: number;
  key: string | null;
  model: string;
  prompt: string;
  maxCostCredits: number;
  maxWaitMs: number | null;
  /** A link to a clip. */
  clip: string | null;
  /** The end user for whom it is submitted. */
  endUser: string | null;
  /** The address for its own events; absent: none. */
  webhookUrl?: string;
  /** Its clip is a stored file, which is chosen before the first submission; absent: it is not. */
  stored?: "file" | "result";
};
/** A submission's response, as its client received it. */
export type ReceivedResponse = {
  planned: PlannedRequest;
  body: string;
  sentAtMs: number;
  receivedAtMs: number;
  /** Catalogues that may have been current between request and response. */
  catalogues: Catalogue[];
  accepted: GenerationRecord | null;
  replayed: boolean;
  /** The code of the API error. */
  refused: string | null;
};
/** A cancel request and its response; without a response, `answer` and `refused` are null. */
export type SentCancel = { id: string; receivedAtMs: number; answer: Cancellation | null; refused: string | null };
/** A deletion and its outcome; null without a response. */
export type SentErasure = { id: string; receivedAtMs: number; outcome: AdminResult["kind"] | null };
/** A generation as a client received it, with the times of request and response. */
export type Seen = { requestedAtMs: number; receivedAtMs: number; record: GenerationRecord };

export type ClientLog = {
  /** All bodies sent under a key, with or without a response: `account key` → hashes. */
  sent: Map<string, Set<string>>;
  heard: ReceivedResponse[];
  seen: Map<string, Seen[]>;
  cancels: SentCancel[];
  erasures: SentErasure[];
  /** Credits that each account received, by account. */
  given: number[];
};

export type ClientDeps = {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  nodes: readonly Node[];
  accountSeqs: readonly number[];
  /** Every catalogue with the time from which it was current. */
  catalogues: readonly { fromMs: number; catalogue: Catalogue }[];
  notebook: ClientLog;
  faults: () => Faults;
  /** Awaited before the first submission of a request. */
  prepare: (planned: PlannedRequest) => Promise<void> | undefined;
  /** Called after the response with the id of a generation. */
  accepted: (planned: PlannedRequest) => void;
};

/** Temporary API errors, after which the same request is repeated later. */
const PASSING: ReadonlySet<string> = new Set(["restarting", "busy", "concurrency_limit", "model_unavailable"]);
const MAX_TRIES = 40;
/** The latest cancel request after the response to its submission. */
const CANCEL_WITHIN_MS = 90_000;
/** The latest deletion after the response to a submission, and after a poll that shows the end. */
const ERASED_EARLY_MS = 60_000;
const ERASED_LATE_MS = 30_000;

const inputOfRequest = ({ prompt, clip }: PlannedRequest): JsonObject => ({
  prompt,
  ...(clip === null ? {} : { video_url: clip }),
});
const bodyOfRequest = (planned: PlannedRequest): string => {
  const { model, maxCostCredits, maxWaitMs } = planned;
  return JSON.stringify({ input: inputOfRequest(planned), maxCostCredits, maxWaitMs, model });
};

export const createClients = (deps: ClientDeps) => {
  const { world, trace, dice, notebook, nodes } = deps;
  const sleep = (ms: number) => new Promise<void>((wake) => world.after(ms, wake));
  const cancels = dice.fork("cancels");
  const erasures = dice.fork("erasures");
  let references = 0;
  const send = createRequests({ world, dice, nodes });
  const query = <T>(request: (engine: NonNullable<ReturnType<Node["engine"]>>) => Promise<T>) =>
    send((node) => node.engine(), request);

  const submitOnce = async (planned: PlannedRequest): Promise<ReceivedResponse | undefined> => {
    const sentAtMs = world.nowMs();
    const body = bodyOfRequest(planned);
    const key = `${planned.account} ${planned.key}`;
    notebook.sent.set(key, (notebook.sent.get(key) ?? new Set()).add(body));
    const answer = await query((engine) =>
      engine
        .submit({
          caller: callerOf(deps.accountSeqs, planned.account),
          requestId: `req_${planned.name}`,
          model: planned.model,
          input: inputOfRequest(planned),
          maxCostCredits: planned.maxCostCredits,
          maxWaitMs: planned.maxWaitMs,
          idempotencyKey: planned.key,
          body,
          ...(planned.endUser === null ? {} : { labels: { metadata: null, endUser: planned.endUser } }),
          ...(planned.webhookUrl === undefined ? {} : { webhookUrl: () => planned.webhookUrl ?? "" }),
        })
        .catch((fault: unknown) => fault as ApiError),
    );
    if (!answer) return undefined;
    const accepted = "record" in answer ? (answer as SubmitResult) : null;
    const code = accepted ? null : ((answer as ApiError).code ?? null);
    // A response without a code is the 500 of an ending process.
    if (!accepted && code === null) return undefined;
    const receivedAtMs = world.nowMs();
    const catalogues = deps.catalogues.filter(
      ({ fromMs }, at) => fromMs <= receivedAtMs && (deps.catalogues[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY) >= sentAtMs,
    );
    const response: ReceivedResponse = {
      ...{ planned, body, sentAtMs, receivedAtMs, catalogues: catalogues.map(({ catalogue }) => catalogue) },
      accepted: accepted?.record ?? null,
      replayed: accepted?.replayed ?? false,
      refused: code,
    };
    notebook.heard.push(response);
    if (accepted) keep(accepted.record, sentAtMs);
    trace.report(
      `c${planned.account}`,
      "answer",
      planned.name,
      accepted ? `${accepted.replayed ? 200 : 202} ${accepted.record.id}` : String(code),
    );
    return response;
  };
  const keep = (record: GenerationRecord, requestedAtMs: number) => {
    const seen = notebook.seen.get(record.id) ?? [];
    seen.push({ requestedAtMs, receivedAtMs: world.nowMs(), record: structuredClone(record) });
    notebook.seen.set(record.id, seen);
  };
  const poll = async (id: string, account: number): Promise<GenerationRecord | undefined> => {
    const requestedAtMs = world.nowMs();
    const record = await query((engine) => engine.records.find(id, deps.accountSeqs[account] ?? 0));
    if (record) keep(record, requestedAtMs);
    return record;
  };

  const cancel = async (id: string, account: number): Promise<void> => {
    const answer = await query((engine) =>
      engine
        .cancel(id, { accountId: `acc_${account}`, keyId: `key_${account}`, isLimited: false })
        .catch((fault: unknown) => fault as ApiError),
    );
    const cancelled = answer && "record" in answer ? answer : null;
    const refused = answer && !cancelled ? ((answer as ApiError).code ?? null) : null;
    notebook.cancels.push({ id, receivedAtMs: world.nowMs(), answer: structuredClone(cancelled), refused });
    trace.report(`c${account}`, "cancel", id, cancelled ? cancelled.record.status : String(refused));
  };
  /** Sometimes cancels a generation at a random moment, sometimes twice. */
  const maybeCancel = (id: string, account: number): void => {
    if (!cancels.chance(deps.faults().cancel)) return;
    for (let times = cancels.chance(0.2) ? 2 : 1; times > 0; times -= 1)
      world.after(cancels.between(0, CANCEL_WITHIN_MS) * cancels.roll(), () => void cancel(id, account));
  };

  const erase = async (id: string, account: number): Promise<void> => {
    const answer = await query((engine) =>
      engine
        .post({
          ...{ mutation: "erase-generation", seq: seqOfGenerationId(id) ?? -1, withFiles: true, atMs: world.nowMs() },
          accountSeq: deps.accountSeqs[account] ?? 0,
        })
        .catch(() => undefined),
    );
    notebook.erasures.push({ id, receivedAtMs: world.nowMs(), outcome: answer?.kind ?? null });
    trace.report(`c${account}`, "erase", id, String(answer?.kind));
  };
  /** Sometimes deletes a generation, at a random moment or after its end. */
  const maybeErase = (id: string, account: number, withinMs: number): void => {
    if (erasures.chance(deps.faults().erase)) world.after(erasures.between(0, withinMs), () => void erase(id, account));
  };

  const giveCredits = async (account: number, credits: number, reference: string): Promise<void> => {
    for (;;) {
      const done = await query((engine) =>
        engine
          .post({
            ...{ mutation: "credit", kind: "topup", credits, note: "", reference },
            accountSeq: deps.accountSeqs[account] ?? 0,
            atMs: world.nowMs(),
          })
          .catch(() => undefined),
      );
      // Repeated under the same reference until a response arrives; it counts once.
      if (done) break;
      await sleep(dice.between(500, 5_000));
    }
    notebook.given[account] = (notebook.given[account] ?? 0) + credits;
    trace.report(`c${account}`, "topped up", reference, String(credits));
  };

  /** Completes a planned request: submits until a final response arrives, then polls to the end. */
  const fulfil = async (planned: PlannedRequest): Promise<void> => {
    const prepared = deps.prepare(planned);
    if (prepared) await prepared;
    for (let turn = 0; turn < MAX_TRIES; turn += 1) {
      const response = await submitOnce(planned);
      if (response?.accepted) {
        maybeCancel(response.accepted.id, planned.account);
        deps.accepted(planned);
        if (erasures.chance(0.2)) maybeErase(response.accepted.id, planned.account, ERASED_EARLY_MS);
        await follow(response.accepted.id, planned.account);
        return;
      }
      if (response?.refused === "insufficient_credits" && turn < 3 && dice.chance(0.7))
        await giveCredits(planned.account, dice.whole(20, 200), `${planned.name}-${references++}`);
      else if (response && !PASSING.has(response.refused ?? "")) return;
      // Without an idempotency key a repetition can create a second generation. The client cannot detect this and sometimes
      // accepts the risk.
      if (!response && planned.key === null && dice.chance(0.5)) return;
      await sleep(dice.between(200, 30_000));
    }
  };
  const follow = async (id: string, account: number): Promise<void> => {
    for (let later = 0; later < 2; ) {
      await sleep(dice.between(1_000, 60_000));
      const record = await poll(id, account);
      // An immediate second poll can reach another node, which must not return an older state.
      if (record && nodes.length > 1) await poll(id, account);
      if (record && record.completedAtMs !== null) {
        if (later === 0) maybeErase(id, account, ERASED_LATE_MS);
        later += 1;
      }
    }
  };

  return {
    fulfil,
    submitOnce,
    poll,
    giveCredits,
  };
};
