// Endpoints of the console API for generations: submit, list, show and download files.

import { Type } from "@sinclair/typebox";
import { refuse } from "../domain/api-errors.ts";
import type { Caller, Json, JsonObject } from "../domain/types.ts";
import type { Submit } from "../generations/submit.ts";
import { answerFile, type StoredResults } from "../http/endpoints/content.ts";
import { fingerprintedRequest, idempotencyKeyOf, readEnvelope } from "../http/parse-submission.ts";
import type { Thumbnail } from "../media/thumbnail.ts";
import type { ListedGeneration, StoreReads } from "../store/store.ts";
import type { AccessAudit } from "./access-audit.ts";
import { attemptViews } from "./attempt-view.ts";
import { filtersOf, listPage } from "./generation-list.ts";
import { type GenerationViewOptions, generationView } from "./generation-view.ts";
import type { GenerationDetail, GenerationDto, GenerationsPage } from "./generations-dto.ts";
import { ConsoleRefused, type ConsoleRequest, type ConsoleRoute } from "./request-context.ts";
import { createThumbnails } from "./thumbnails.ts";

export type GenerationRoutesDeps = {
  reads: Pick<
    StoreReads,
    "account" | "attemptsOf" | "findGeneration" | "generationsStep" | "inputOf" | "journalOf" | "transfersOf"
  >;
  submit: Submit;
  /** The caller of generations that the console submits for an account: its hidden key, which cannot be used otherwise. */
  consoleCaller: (accountId: string) => Promise<Caller>;
  /** Counts a request for the burst limit. @throws ApiError `rate_limited` */
  count: (caller: Caller) => void | Promise<void>;
  /** Proxies files from the bucket, because the pages may not load from other hosts. */
  shelf: StoredResults & Required<Pick<StoredResults, "through">>;
  thumbnail: Thumbnail;
  telling: GenerationViewOptions;
  /** True if the inspector is on. A user who may see a generation here may replay it there. */
  hasInspector: boolean;
  modelsOf: Parameters<typeof filtersOf>[2];
  breathe: () => Promise<void>;
  looks: AccessAudit;
};

/** An object whose members are validated by the same code as a submission to the API. */
const REQUEST = Type.Record(Type.String(), Type.Unknown());
const PATH = "/console/api/generations";
const POSITION = /^[1-9][0-9]?$/;

/** True for operators and viewers, who can read every account. */
export const seesAll = ({ who }: Pick<ConsoleRequest, "who">): boolean => who.role !== "member";

/** Account of a list or a stream: the user's own or the named one, where `*` selects all. @throws ConsoleRefused */
export const requestedAccount = async (
  reads: Pick<StoreReads, "account">,
  ask: Pick<ConsoleRequest, "who" | "query">,
): Promise<{ seq: number; id: string } | null> => {
  const { who, query } = ask;
  const named = query.get("account");
  if (seesAll(ask) && (named === "*" || (named === null && who.accountId === null))) return null;
  const id = named ?? who.accountId;
  const account = id !== null && (id === who.accountId || seesAll(ask)) ? await reads.account(id) : undefined;
  if (!account) throw new ConsoleRefused("not_found", "There is no such account.");
  return { seq: account.seq, id: account.id };
};

export const generationRoutes = (deps: GenerationRoutesDeps): ConsoleRoute[] => {
  const { reads, shelf, telling, looks } = deps;
  const thumb = createThumbnails(deps.thumbnail);
  const unknown = () => refuse("not_found", "There is no such generation.");

  /**
   * A generation of the user's account, or of any account for operators and viewers. @throws ApiError `not_found`, the same for
   * unknown and foreign
   */
  const found = async (ask: ConsoleRequest) => {
    const record = await reads.findGeneration(ask.params.id ?? "");
    return record && (seesAll(ask) || record.accountId === ask.who.accountId) ? record : unknown();
  };
  const told = (ask: ConsoleRequest, one: ListedGeneration) => generationView(one, telling, seesAll(ask));

  const submit = async (ask: ConsoleRequest): Promise<GenerationDto> => {
    const { request, requestId, who } = ask;
    if (who.role === "viewer") throw new ConsoleRefused("forbidden", "You may look at everything here and change nothing.");
    const caller = await deps.consoleCaller(who.accountId ?? "");
    if (caller.paused) refuse("account_disabled", "The account is paused.");
    await deps.count(caller);
    const idempotencyKey = idempotencyKeyOf(request) ?? refuse("invalid_request", "Idempotency-Key: is missing.");
    const kept = fingerprintedRequest(JSON.stringify(ask.body), ask.body as JsonObject, idempotencyKey);
    const order = { ...readEnvelope(ask.body as Json), ...kept, caller, requestId };
    const { record } = await deps.submit(order);
    const { prompt } = order.input;
    const excerpt = typeof prompt === "string" ? prompt : null;
    const key = { id: caller.keyId, name: "", start: "", isPlayground: true };
    return told(ask, { record, accountId: caller.accountId, key, prompt: excerpt });
  };

  const list = async (ask: ConsoleRequest): Promise<GenerationsPage> => {
    const account = await requestedAccount(reads, ask);
    const filters = filtersOf(ask.query, account?.seq ?? null, deps.modelsOf);
    const page = await listPage(reads, filters, deps.breathe);
    looks.note(ask.who, { what: "generations", of: account?.id ?? null, accountId: account?.id ?? null });
    return {
      generations: page.found.map((one) => told(ask, one)),
      looked: page.looked,
      next: page.next === null ? null : String(page.next),
    };
  };

  const detail = async (ask: ConsoleRequest): Promise<GenerationDetail> => {
    const record = await found(ask);
    const { seq, accountId, key } = record;
    looks.note(ask.who, { what: "generation", of: record.id, accountId });
    const [input, attempts, journal, transfers] = await Promise.all([
      reads.inputOf(seq),
      reads.attemptsOf(seq),
      reads.journalOf(seq),
      reads.transfersOf(seq),
    ]);
    const sum = (kind: string) => transfers.reduce((all, one) => all + (one.kind === kind ? one.credits : 0), 0);
    const prompt = input?.raw.prompt;
    return {
      ...told(ask, { record, accountId, key, prompt: typeof prompt === "string" ? prompt : null }),
      input: input?.raw ?? {},
      timeline: attemptViews(attempts, journal, seesAll(ask)),
      money: { heldCredits: sum("hold"), chargedCredits: sum("capture"), releasedCredits: sum("release") },
      entries: transfers.map(({ kind, credits, from, to, attemptN, atMs }) => ({ kind, credits, from, to, attemptN, atMs })),
      idempotencyKey: record.idempotencyKey,
      requestId: record.requestId,
      inspectorUrl: deps.hasInspector ? `/inspector/${record.id}` : null,
    };
  };

  const file = async (ask: ConsoleRequest): Promise<Response> => {
    const n = ask.params.n ?? "";
    if (!POSITION.test(n)) return unknown();
    const record = await found(ask);
    looks.note(ask.who, { what: "files", of: record.id, accountId: record.accountId });
    return answerFile(shelf, record, Number(n), ask.request, ask.requestId);
  };
  const small = async (ask: ConsoleRequest): Promise<Response> => {
    const record = await found(ask);
    const kept = record.output?.files.find(({ n }) => String(n) === ask.params.n);
    if (!kept?.mime.startsWith("image/")) return refuse("not_found", "Only pictures have small ones.");
    // Requests the complete file, whatever range this request has.
    const whole = new Request(ask.request.url, { signal: ask.request.signal });
    const read = async () => (await answerFile(shelf, record, kept.n, whole, ask.requestId)).blob();
    return thumb({ sha256: kept.sha256, bytes: kept.bytes, account: record.accountId, read }, ask.request);
  };

  return [
    { method: "POST", path: PATH, who: "member", body: REQUEST, answer: submit },
    { method: "GET", path: PATH, who: "user", answer: list },
    { method: "GET", path: `${PATH}/:id`, who: "user", answer: detail },
    { method: "GET", path: `${PATH}/:id/files/:n`, who: "user", answer: file },
    { method: "GET", path: `${PATH}/:id/files/:n/thumb`, who: "user", answer: small },
  ];
};
