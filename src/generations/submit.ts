// Submits a request: the checks, the plan and the admission of one submission, in the order of §4.1.
import type { Catalogue } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import { ApiError, KEY_EXPIRED, OR_LOWER_MAX_COST, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import type { Ordered } from "../domain/delivery-check.ts";
import { isSameRequest } from "../domain/idempotency.ts";
import type { NameGeneration } from "../domain/ids.ts";
import type { AdmitGeneration, AdmitResult } from "../domain/mutations.ts";
import type { Caller, Credits, GenerationRecord, JsonObject, Labels, Measured, MediaLink, PinRequest } from "../domain/types.ts";
import type { CannotGive } from "../inputs/cannot-give.ts";
import type { OpenStored } from "../media/port.ts";
import type { CheckedInput } from "../quote/check-input.ts";
import { leastMeasured, leastReserve } from "../quote/minimum-price.ts";
import type { Plan, RouteState, SkippedRoute } from "../quote/plan.ts";
import { createPlanner } from "../quote/planner.ts";
import type { StoreReads } from "../store/store.ts";
import type { OwnFile, OwnFiles } from "../uploads/own-files.ts";
import { type FilesByLink, inputFiles, type OpenedInputs, openInputs } from "./own-inputs.ts";
import { checkMedia, checkRequest, OVERLOADED } from "./request-checks.ts";

/** A submission with a valid envelope, not yet checked against the model. */
export type SubmitRequest = {
  caller: Caller;
  requestId: string;
  model: string;
  input: JsonObject;
  /** `max_cost_usd` rounded down to whole credits; 10,000 if absent. */
  maxCostCredits: Credits;
  /** `max_wait_s` in milliseconds; null if absent. */
  maxWaitMs: number | null;
  idempotencyKey: string | null;
  /** Metadata and end user of the headers; absent: neither. */
  labels?: Labels;
  /** The request body as sent, in one line. */
  body: string;
  /** The only route that may run it, for a route test. */
  onlyRoute?: string;
  /** Returns the address for the events of the generation, or throws if it may not be used now; absent: none. */
  webhookUrl?: (() => string) | undefined;
};
/** `replayed`: an earlier request with the same Idempotency-Key created the generation (200 instead of 202). */
export type SubmitResult = { record: GenerationRecord; replayed: boolean };
/** Whether the client is still connected; checked once, directly before the admission. */
export type Presence = {
  /** Resolves when everything that has arrived so far has been read. */
  heard: () => Promise<void>;
  isGone: () => boolean;
};
export type Submit = (order: SubmitRequest, presence?: Presence) => Promise<SubmitResult>;

/** Whether new submissions are accepted now. */
export type AdmissionState = "open" | "restarting" | "busy";

export type SubmitDeps = {
  reads: Pick<StoreReads, "generationByKey" | "account">;
  admit: (mutation: AdmitGeneration) => Promise<AdmitResult>;
  admission: () => AdmissionState;
  catalogue: () => Catalogue;
  routeState: (routeId: string) => RouteState;
  expectedMs: (routeId: string) => number | undefined;
  allowsHost: (host: string) => boolean;
  measure: (links: readonly MediaLink[], account: string, stored?: ReadonlyMap<string, OpenStored>) => Promise<Measured[]>;
  /** Stored files of this service that an input names, and their retention after the last use, ms. */
  ownFiles: OwnFiles & { open: (file: OwnFile["file"]) => OpenStored; keepMs: number };
  /** The file of an input that a provider cannot receive, if any. */
  cannotGive?: CannotGive;
  /** `isTrusting`: providers open links whose length is billed themselves. `mostBytes`: maximum size of a pinned input. */
  pins: { isTrusting: boolean; mostBytes: number };
  limits: { inProgress: number; noWaitMs: number };
  /** Called for each route that the limits of the request exclude from its plan. */
  skipped: (model: string, route: SkippedRoute) => void;
  /** Creates the row number, which always rises, and the id of a new generation. */
  nameGeneration: NameGeneration;
  clock: Clock;
};

const conflict = () =>
  refuse("idempotency_conflict", "Idempotency-Key: already used with a different body; use a new key for a new request.");

/**
 * Creates the submit function. A known Idempotency-Key outranks every later error, and the ledger detects it itself. The key is
 * therefore looked up only before an error is returned or before a linked server would be opened.
 */
export const createSubmit = (deps: SubmitDeps): Submit => {
  /** Returns the generation of the key. @throws ApiError `idempotency_conflict` for a different request. */
  const stored = async ({ caller, idempotencyKey, ...sent }: SubmitRequest): Promise<SubmitResult | undefined> => {
    if (idempotencyKey === null) return undefined;
    const made = await deps.reads.generationByKey(caller.accountSeq, idempotencyKey);
    if (!made) return undefined;
    return isSameRequest(made, sent.body) ? { record: made.record, replayed: true } : conflict();
  };

  const plan = createPlanner(deps);

  /**
   * Opens no linked server if the ledger would reject the submission anyway. Only the ledger decides: this check rejects nothing
   * that the ledger would accept.
   */
  const requireCreditsAndLimits = async (order: SubmitRequest, model: Model, checked: CheckedInput): Promise<void> => {
    const { caller, maxCostCredits, maxWaitMs } = order;
    const account = await deps.reads.account(caller.accountId);
    if (!account) return;
    if (account.inProgress >= (caller.inProgressLimit ?? deps.limits.inProgress)) tooMany();
    const leastCredits = leastReserve(model, checked, (routeId) => deps.routeState(routeId) !== "unconfigured");
    const { availableCredits, owedCredits } = account;
    if (owedCredits > 0) owing(owedCredits);
    // The plan rejects a request that no route can run, with the reason.
    if (leastCredits === undefined) plan({ model, checked, measured: leastMeasured(model, checked), maxCostCredits, maxWaitMs });
    else if (availableCredits < leastCredits) tooLittle(`at least ${usd(leastCredits)}`, availableCredits);
  };

  type Priced = { plan: Plan; ordered: Ordered; pins: readonly PinRequest[]; files: FilesByLink; webhookUrl: string | undefined };
  const mutationOf = (
    order: SubmitRequest,
    model: Model,
    { added, links }: CheckedInput,
    { plan, ordered, pins, files, webhookUrl }: Priced,
  ): AdmitGeneration => {
    const nowMs = deps.clock.nowMs();
    const { seq, id } = deps.nameGeneration(nowMs);
    const mutation: AdmitGeneration = {
      mutation: "admit",
      seq,
      id,
      accountSeq: order.caller.accountSeq,
      keySeq: order.caller.keySeq,
      model: model.id,
      idempotencyKey: order.idempotencyKey,
      body: order.body,
      added,
      plan: plan.routes,
      ordered,
      quotedCredits: plan.quotedCredits,
      reservedCredits: plan.reservedCredits,
      maxCostCredits: order.maxCostCredits,
      inProgressLimit: order.caller.inProgressLimit ?? deps.limits.inProgress,
      createdAtMs: nowMs,
      // §2.5: no route is tried after max_wait_s; the default is a day.
      waitEndsAtMs: nowMs + (order.maxWaitMs ?? deps.limits.noWaitMs),
      requestId: order.requestId,
    };
    if (pins.length > 0) mutation.pins = pins;
    if (order.labels) mutation.labels = order.labels;
    const stored = inputFiles(links, files, pins.length, nowMs + deps.ownFiles.keepMs);
    if (stored) mutation.files = stored;
    if (webhookUrl !== undefined) mutation.webhookUrl = webhookUrl;
    return mutation;
  };

  return async (order, presence) => {
    try {
      const webhookUrl = order.webhookUrl?.();
      const { model, checked } = checkRequest(deps, order);
      let opened: OpenedInputs = { measured: [], files: new Map() };
      if (checked.links.length > 0) {
        const before = await stored(order);
        if (before) return before;
        await requireCreditsAndLimits(order, model, checked);
        opened = await openInputs(deps, checked.links, order.caller);
      }
      const { measured, files } = opened;
      const pins = checkMedia(deps, model, checked, { measured, files });
      const { maxCostCredits, maxWaitMs } = order;
      const { plan: planned, ordered } = plan({ model, checked, measured, maxCostCredits, maxWaitMs });
      for (const route of planned.skipped) deps.skipped(model.id, route);
      // Checked last, so that every error is returned without it. A client that has disconnected is not charged.
      await presence?.heard();
      if (presence?.isGone()) refuse("invalid_request", "The connection closed before the generation was admitted.");
      const priced = { plan: planned, ordered, pins, files, webhookUrl };
      const outcome = await deps.admit(mutationOf(order, model, checked, priced));
      return answer(outcome, planned.reservedCredits);
    } catch (caught) {
      // A full disk is the only commit error that is certain: nothing was written.
      const fault = caught instanceof StoreFull ? new ApiError("busy", OVERLOADED) : caught;
      const before = fault instanceof ApiError ? await stored(order) : undefined;
      if (before) return before;
      throw fault;
    }
  };
};

const usd = (credits: Credits): string => `${(credits / 100).toFixed(2)} USD`;
/** Seconds precision: limits reset at midnight UTC. */
const isoTime = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z");

const tooMany = (): never =>
  refuse("concurrency_limit", "The account has its maximum number of generations in progress; try again when one has finished.");
const tooLittle = (needed: string, availableCredits: Credits): never =>
  refuse("insufficient_credits", `${needed} must be available and ${usd(availableCredits)} is; add credits${OR_LOWER_MAX_COST}.`);

const owing = (owedCredits: Credits): never =>
  refuse(
    "insufficient_credits",
    `${usd(owedCredits)} of debt is open, because spent credits were reversed; add at least this amount before new submissions.`,
  );

const overEndUserLimit = (
  { endUser, window, limitCredits, leftCredits, resetsAtMs }: Extract<AdmitResult, { kind: "end_user_limit" }>,
  reservedCredits: Credits,
): never => {
  const per = window === "total" ? "in total" : `a ${window}`;
  const reset = resetsAtMs === null ? "" : `; it resets at ${isoTime(resetsAtMs)}`;
  return refuse(
    "insufficient_credits",
    `The end user ${JSON.stringify(endUser)} may spend ${usd(limitCredits)} ${per}: ${usd(leftCredits)} is left and ${usd(reservedCredits)} must be${reset}. Raise the limit of this end user, or lower max_cost_usd.`,
  );
};

const answer = (outcome: AdmitResult, reservedCredits: Credits): SubmitResult => {
  switch (outcome.kind) {
    case "admitted":
      return { record: outcome.record, replayed: false };
    case "replayed":
      return { record: outcome.record, replayed: true };
    case "idempotency_conflict":
      return conflict();
    case "concurrency_limit":
      return tooMany();
    case "file_deleted":
      return refuse("invalid_input", `${outcome.field}: the stored file was deleted meanwhile; upload it again`);
    case "key_expired":
      return refuse("unauthorized", KEY_EXPIRED);
    case "key_limit":
      return refuse(
        "insufficient_credits",
        `This key may spend ${usd(outcome.limitCredits)} a ${outcome.window}: ${usd(outcome.leftCredits)} is left and ${usd(reservedCredits)} must be; it resets at ${isoTime(outcome.resetsAtMs)}. Wait, use another key, or lower max_cost_usd.`,
      );
    case "end_user_limit":
      return overEndUserLimit(outcome, reservedCredits);
    case "refused":
      throw new Error(`the store refused a submission: ${outcome.reason}`);
    case "owed":
      return owing(outcome.owedCredits);
    case "insufficient_credits":
      return tooLittle(usd(reservedCredits), outcome.availableCredits);
  }
};
