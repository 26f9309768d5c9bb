// Endpoints of the console API for generations: submit, list, show and download files.

import { Type } from "@sinclair/typebox";
import { ApiError, OR_LOWER_MAX_COST, refuse } from "../domain/api-errors.ts";
import type { Caller, Json, JsonObject } from "../domain/types.ts";
import { type Cancel, pendingSinceMs } from "../generations/cancel.ts";
import type { Erase } from "../generations/erase.ts";
import type { Submit } from "../generations/submit.ts";
import { answerFile, type StoredResults } from "../http/endpoints/content.ts";
import { idempotencyKeyOf, readEnvelope, storedBody } from "../http/parse-submission.ts";
import type { ListedGeneration, StoreReads } from "../store/store.ts";
import type { AccessAudit } from "./access-audit.ts";
import { attemptViews } from "./attempt-view.ts";
import { filtersOf, listPage, searchOf } from "./generation-list.ts";
import { type GenerationViewOptions, generationView } from "./generation-view.ts";
import type { ErasedGeneration, GenerationDetail, GenerationDto, GenerationsPage } from "./generations-dto.ts";
import { actorOf, ConsoleRefused, type ConsoleRequest, type ConsoleRoute } from "./request-context.ts";
import type { AnswerThumbnail } from "./thumbnails.ts";

export type GenerationRoutesDeps = {
  reads: Pick<
    StoreReads,
    "account" | "attemptsOf" | "findGeneration" | "generationsStep" | "inputOf" | "eventsOf" | "snapshotOf" | "transfersOf"
  >;
  submit: Submit;
  cancel: Cancel;
  erase: Erase;
  /** The caller of generations that the console submits for an account: its hidden key, which cannot be used otherwise. */
  consoleCaller: (accountId: string) => Promise<Caller>;
  /** Counts a request for the burst limit. @throws ApiError `rate_limited` */
  count: (caller: Caller) => void | Promise<void>;
  /** Proxies files from the bucket, because the pages may not load from other hosts. */
  results: StoredResults & Required<Pick<StoredResults, "through">>;
  thumb: AnswerThumbnail;
  viewOptions: GenerationViewOptions;
  /** True if the inspector is on. A user who may see a generation here may replay it there. */
  hasInspector: boolean;
  modelsOf: Parameters<typeof filtersOf>[2];
  breathe: () => Promise<void>;
  accessAudit: AccessAudit;
};

/** An object whose members are validated by the same code as a submission to the API. */
const REQUEST = Type.Record(Type.String(), Type.Unknown());
const PATH = "/console/api/generations";
const POSITION = /^[1-9][0-9]?$/;

/** True for operators and viewers, who can read every account. */
export const seesAll = ({ who }: Pick<ConsoleRequest, "who">): boolean => who.role !== "member";

const refuseViewer = ({ who }: Pick<ConsoleRequest, "who">): void => {
  if (who.role === "viewer") throw new ConsoleRefused("forbidden", "Your role has read access only.");
};

/** Account of a list or a stream: the user's own or the named one, where `*` selects all. @throws ConsoleRefused */
export const requestedAccount = async (
  reads: Pick<StoreReads, "account">,
  request: Pick<ConsoleRequest, "who" | "query">,
): Promise<{ seq: number; id: string } | null> => {
  const { who, query } = request;
  const named = query.get("account");
  if (seesAll(request) && (named === "*" || (named === null && who.accountId === null))) return null;
  const id = named ?? who.accountId;
  const account = id !== null && (id === who.accountId || seesAll(request)) ? await reads.account(id) : undefined;
  if (!account) throw new ConsoleRefused("not_found", "There is no such account.");
  return { seq: account.seq, id: account.id };
};

/** The form of the console has no maximum cost that could be lowered. */
const inConsole = (fault: unknown): never => {
  if (!(fault instanceof ApiError) || fault.code !== "insufficient_credits") throw fault;
  throw new ApiError(fault.code, fault.message.replace(OR_LOWER_MAX_COST, ""));
};

export const generationRoutes = (deps: GenerationRoutesDeps): ConsoleRoute[] => {
  const { reads, results, viewOptions, accessAudit, thumb } = deps;
  const unknown = () => refuse("not_found", "There is no such generation.");

  /**
   * A generation of the user's account, or of any account for operators and viewers. @throws ApiError `not_found`, the same for
   * unknown and foreign
   */
  const found = async (request: ConsoleRequest) => {
    const record = await reads.findGeneration(request.params.id ?? "");
    return record && (seesAll(request) || record.accountId === request.who.accountId) ? record : unknown();
  };
  const viewFor = (request: ConsoleRequest, one: ListedGeneration) => generationView(one, viewOptions, seesAll(request));

  const submit = async (query: ConsoleRequest): Promise<GenerationDto> => {
    const { request, requestId, who } = query;
    refuseViewer(query);
    const caller = await deps.consoleCaller(who.accountId ?? "");
    if (caller.paused) refuse("account_disabled", "The account is paused.");
    await deps.count(caller);
    const idempotencyKey = idempotencyKeyOf(request) ?? refuse("invalid_request", "Idempotency-Key: is missing.");
    const body = storedBody(JSON.stringify(query.body), query.body as JsonObject);
    const order = { ...readEnvelope(query.body as Json), idempotencyKey, body, caller, requestId };
    const { record } = await deps.submit(order).catch(inConsole);
    const { prompt } = order.input;
    const excerpt = typeof prompt === "string" ? prompt : null;
    const key = { id: caller.keyId, name: "", start: "", isPlayground: true };
    return viewFor(query, { record, accountId: caller.accountId, key, prompt: excerpt });
  };

  const list = async (request: ConsoleRequest): Promise<GenerationsPage> => {
    const account = await requestedAccount(reads, request);
    const filters = filtersOf(request.query, account?.seq ?? null, deps.modelsOf);
    const page = await listPage(reads, filters, deps.breathe, searchOf(request.query));
    accessAudit.note(request.who, { what: "generations", of: account?.id ?? null, accountId: account?.id ?? null });
    return {
      generations: page.found.map((one) => viewFor(request, one)),
      looked: page.examined,
      next: page.next === null ? null : String(page.next),
    };
  };

  const detail = async (request: ConsoleRequest): Promise<GenerationDetail> => {
    const record = await found(request);
    const { seq, accountId, key, labels } = record;
    accessAudit.note(request.who, { what: "generation", of: record.id, accountId });
    const [input, attempts, events, transfers, cancelRequestedAtMs] = await Promise.all([
      reads.inputOf(seq),
      reads.attemptsOf(seq),
      reads.eventsOf(seq),
      reads.transfersOf(seq),
      pendingSinceMs(reads, record),
    ]);
    const sum = (kind: string) => transfers.reduce((all, one) => all + (one.kind === kind ? one.credits : 0), 0);
    const prompt = input?.raw.prompt;
    return {
      ...viewFor(request, { record, accountId, key, prompt: typeof prompt === "string" ? prompt : null }),
      input: input?.raw ?? {},
      timeline: attemptViews(attempts, events, seesAll(request)),
      money: { heldCredits: sum("hold"), chargedCredits: sum("capture"), releasedCredits: sum("release") },
      entries: transfers.map(({ kind, credits, from, to, attemptN, atMs }) => ({ kind, credits, from, to, attemptN, atMs })),
      idempotencyKey: record.idempotencyKey,
      requestId: record.requestId,
      cancelRequestedAtMs,
      metadata: labels?.metadata ?? null,
      endUser: labels?.endUser ?? null,
      erasedAtMs: record.erasedAtMs,
      inspectorUrl: deps.hasInspector ? `/inspector/${record.id}` : null,
    };
  };

  /** @returns the generation after the request; it may still deliver */
  const cancel = async (request: ConsoleRequest): Promise<GenerationDetail> => {
    refuseViewer(request);
    const { id, accountId } = await found(request);
    await deps.cancel(id, { accountId, keyId: request.who.userId, isLimited: false });
    return detail(request);
  };

  /** Erases what a person wrote and deletes the files. @returns the generation as it is then, and the older backups */
  const erase = async (request: ConsoleRequest): Promise<ErasedGeneration> => {
    refuseViewer(request);
    const { id, accountId } = await found(request);
    const by = actorOf(request);
    const { backups } = await deps.erase(id, { accountId, keyId: by.id, isLimited: false, by });
    return { generation: await detail(request), backups: [...backups] };
  };

  const file = async (request: ConsoleRequest): Promise<Response> => {
    const n = request.params.n ?? "";
    if (!POSITION.test(n)) return unknown();
    const record = await found(request);
    accessAudit.note(request.who, { what: "files", of: record.id, accountId: record.accountId });
    return answerFile(results, record, Number(n), request.request, request.requestId);
  };
  const small = async (request: ConsoleRequest): Promise<Response> => {
    const record = await found(request);
    const kept = record.output?.files.find(({ n }) => String(n) === request.params.n);
    if (!kept?.mime.startsWith("image/")) return refuse("not_found", "Thumbnails exist for images only.");
    // Requests the complete file, whatever range this request has.
    const whole = new Request(request.request.url, { signal: request.request.signal });
    const read = async () => (await answerFile(results, record, kept.n, whole, request.requestId)).blob();
    return thumb({ sha256: kept.sha256, bytes: kept.bytes, account: record.accountId, read }, request.request);
  };

  return [
    { method: "POST", path: PATH, who: "member", body: REQUEST, answer: submit },
    { method: "GET", path: PATH, who: "user", answer: list },
    { method: "GET", path: `${PATH}/:id`, who: "user", answer: detail },
    { method: "POST", path: `${PATH}/:id/cancel`, who: "user", answer: cancel },
    { method: "DELETE", path: `${PATH}/:id`, who: "user", answer: erase },
    { method: "GET", path: `${PATH}/:id/files/:n`, who: "user", answer: file },
    { method: "GET", path: `${PATH}/:id/files/:n/thumb`, who: "user", answer: small },
  ];
};
