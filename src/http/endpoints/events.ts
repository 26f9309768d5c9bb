// Serves event streams: GET /v1/generations/{id}/events of one generation, and GET /v1/events of the account.
import { refuse } from "../../domain/api-errors.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../domain/webhooks.ts";
import type { EventStreams, Prepared } from "../../event-streams/event-streams.ts";
import { EVENT_STREAM_HEADERS } from "../../event-streams/stream.ts";
import type { StoreReads } from "../../store/store.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { readQuery } from "../query.ts";
import { signAnswer } from "../response.ts";
import { findGeneration } from "./generations.ts";

export type EventsDeps = {
  reads: Pick<StoreReads, "generationById">;
  eventStreams: EventStreams;
  /** Disables the idle timeout of a stream. */
  disableTimeout: (request: Request) => void;
};

/** The id after which a client resumes; null for none. Browsers send no header for an empty id. */
const lastEventIdOf = (request: Request): string | null => request.headers.get("last-event-id") || null;

/** A response to HEAD has no reader, and its stream would never end. */
const answerStream = (
  { disableTimeout }: EventsDeps,
  request: Request,
  requestId: string,
  prepared: Prepared | null,
): Response => {
  if (prepared === null)
    return signAnswer(new Response(null, { status: 204, headers: { "cache-control": "no-store" } }), requestId);
  const body = request.method === "HEAD" ? null : prepared.open(request.signal);
  disableTimeout(request);
  return signAnswer(new Response(body, { headers: EVENT_STREAM_HEADERS }), requestId);
};

/** A key with limits or models sees only the generations that it submitted. */
export const generationEvents =
  (deps: EventsDeps): AuthenticatedHandler =>
  async (request, requestId, caller, params) => {
    const generation = await findGeneration(deps.reads, params.id, caller);
    if (caller.isLimited && !(await deps.eventStreams.isOfKey(caller, generation)))
      refuse("not_found", "No generation with this id on the account.");
    const prepared = await deps.eventStreams.ofGeneration(caller, generation, lastEventIdOf(request));
    return answerStream(deps, request, requestId, prepared);
  };

/** The types of the query member `types`, separated by commas; all types without it. @throws ApiError `invalid_request` */
const typesOf = (text: string | undefined): ReadonlySet<WebhookEvent> => {
  if (text === undefined || text === "*") return new Set(WEBHOOK_EVENTS);
  const allowed = `types: must be a list of ${WEBHOOK_EVENTS.join(", ")}, separated by commas, or * for all.`;
  return new Set(
    text.split(",").map((sent) => WEBHOOK_EVENTS.find((type) => type === sent) ?? refuse("invalid_request", allowed)),
  );
};

export const accountEvents =
  (deps: EventsDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    requireUnlimitedKey(caller);
    const types = typesOf(readQuery(request, ["types"]).types);
    const prepared = await deps.eventStreams.ofAccount(caller, types, lastEventIdOf(request));
    return answerStream(deps, request, requestId, prepared);
  };
