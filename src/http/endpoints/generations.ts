// Serves submissions, POST /v1/generations (§4.1), and polls, GET /v1/generations/{id} (§4.2).
import type { Settings } from "../../config/schema.ts";
import { refuse } from "../../domain/api-errors.ts";
import type { CachedRecord, Caller, GenerationRecord } from "../../domain/types.ts";
import type { Presence, Submit } from "../../generations/submit.ts";
import type { Log } from "../../logging/events.ts";
import type { StoreReads } from "../../store/store.ts";
import type { WebhookService } from "../../webhooks/service.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { readBody } from "../body.ts";
import { parseSubmission } from "../parse-submission.ts";
import { webhookUrlOf } from "../parse-webhook.ts";
import { preferredWaitS, type WaitingDeps, waitAsPreferred } from "../prefer.ts";
import { addLogContext } from "../request-log-context.ts";
import { type LinkTo, resourceJson } from "../resource.ts";
import { answerJson, commonHeaders } from "../response.ts";

/** §8: 1 to 80 word characters or hyphens. */
const ID = /^[A-Za-z0-9_-]{1,80}$/;
/** Recommended delay before the first poll, s. */
const FIRST_POLL_S = "2";

type Reads = Pick<StoreReads, "generationById">;
/** Store reads with synchronous access to records in memory. */
export type RecentReads = Reads & { recent: (id: string, accountSeq: number) => CachedRecord | undefined };

const unknown = () => refuse("not_found", "No generation with this id on the account.");

/** Returns the caller's generation. @throws ApiError `not_found`, the same for an unknown, a foreign and a malformed id. */
export const findGeneration = async (reads: Reads, id: string | undefined, caller: Caller): Promise<GenerationRecord> => {
  if (id === undefined || !ID.test(id)) return unknown();
  return (await reads.generationById(id, caller.accountSeq)) ?? unknown();
};

const ACCEPTED = commonHeaders({ "retry-after": FIRST_POLL_S });
const answerAccepted = (json: string, id: string, requestId: string, headers = ACCEPTED): Response => {
  headers.set("location", `/v1/generations/${id}`);
  return answerJson(202, json, requestId, headers);
};

let turning: Promise<void> | undefined;
/**
 * Resolves after the runtime has read all data that has arrived. All calls within one turn of the event loop share one promise.
 */
const nextTurn = (): Promise<void> => {
  turning ??= new Promise((turn) =>
    setImmediate(() => {
      turning = undefined;
      turn();
    }),
  );
  return turning;
};

/**
 * Detects whether the client has disconnected. The runtime closes a connection if data follows a request that is still being
 * processed. This may be a line break (it writes a bare 400), another request, or the end of a half-closed stream. After one turn
 * of the event loop the runtime has read data that arrived together with the body. Data that arrives during the commit cannot be
 * detected; the client recovers by sending the same request with the same Idempotency-Key again.
 */
const presenceOf = (request: Request): Presence => ({ heard: nextTurn, isGone: () => request.signal.aborted });

type SubmissionDeps = {
  submit: Submit;
  log: Log;
  settings: Pick<Settings, "log">;
  webhooks: Pick<WebhookService, "submissionAddress">;
};

/**
 * §4.1: returns 202 for a new generation, 200 for the generation that an earlier request with the same Idempotency-Key created.
 * With `Prefer: wait`, the answer waits for the end of the generation, and its status stays the same.
 */
export const submission =
  ({ submit, log, settings, webhooks }: SubmissionDeps, linkTo: LinkTo, waiting: WaitingDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    const bytes = await readBody(request);
    const order = parseSubmission(bytes, request, requestId, caller);
    const webhookUrl = webhookUrlOf(request, caller, webhooks);
    if (settings.log.prompts)
      log("input measured", { request_id: requestId, model: order.model, input: JSON.stringify(order.input) });
    const { record, replayed } = await submit(webhookUrl ? { ...order, webhookUrl } : order, presenceOf(request));
    addLogContext(request, { generation_id: record.id });
    if (replayed) log("submission replayed", { request_id: requestId, generation_id: record.id });
    const waitS = preferredWaitS(request);
    if (waitS === null) {
      const json = resourceJson(record, linkTo);
      return replayed ? answerJson(200, json, requestId) : answerAccepted(json, record.id, requestId);
    }
    const { record: latest, headers } = await waitAsPreferred(waiting, request, record, waitS);
    const json = resourceJson(latest, linkTo);
    if (replayed) return answerJson(200, json, requestId, commonHeaders(headers));
    return answerAccepted(json, record.id, requestId, commonHeaders({ "retry-after": FIRST_POLL_S, ...headers }));
  };

/**
 * §4.2. Reads the record and writes nothing. The response for a record in memory is serialized once and sent without a turn of
 * the event loop.
 */
export const poll = (reads: RecentReads, linkTo: LinkTo, linksAge: () => string, waiting: WaitingDeps): AuthenticatedHandler => {
  const shown = (kept: CachedRecord): string => {
    const age = kept.record.status === "succeeded" ? linksAge() : "";
    if (kept.shown?.age === age) return kept.shown.json;
    const json = resourceJson(kept.record, linkTo);
    kept.shown = { json, age };
    return json;
  };
  const afterWaiting = async (
    request: Request,
    requestId: string,
    record: GenerationRecord,
    waitS: number,
  ): Promise<Response> => {
    const { record: latest, headers } = await waitAsPreferred(waiting, request, record, waitS);
    return answerJson(200, resourceJson(latest, linkTo), requestId, commonHeaders(headers));
  };
  return (request, requestId, caller, params) => {
    const kept = params.id === undefined ? undefined : reads.recent(params.id, caller.accountSeq);
    const waitS = preferredWaitS(request);
    if (kept)
      return waitS === null ? answerJson(200, shown(kept), requestId) : afterWaiting(request, requestId, kept.record, waitS);
    return findGeneration(reads, params.id, caller).then((found) =>
      waitS === null ? answerJson(200, resourceJson(found, linkTo), requestId) : afterWaiting(request, requestId, found, waitS),
    );
  };
};
