// Serves the end users of an account: limits, spending and usage.
import { refuse } from "../../domain/api-errors.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Cursors } from "../../domain/cursors.ts";
import { endUserWindowEndsAtMs, type SetEndUserLimit } from "../../domain/end-users.ts";
import type { AdminResult } from "../../domain/mutations.ts";
import type { Caller, JsonObject } from "../../domain/types.ts";
import type { EndUserReads, EndUserRow } from "../../store/end-user-reads.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { readBody } from "../body.ts";
import { parseEndUserLimit } from "../parse-end-user.ts";
import { integerIn, LIST_LIMIT, REPLACEMENT, readQuery } from "../query.ts";
import { usd } from "../resource.ts";
import { answerJson, type PathParams } from "../response.ts";

export type EndUserDeps = {
  reads: Pick<EndUserReads, "endUser" | "endUsers">;
  cursors: Cursors;
  clock: Clock;
  setEndUserLimit: (mutation: SetEndUserLimit) => Promise<AdminResult>;
};

const endUserObject = ({ name, limit, spentCredits, heldCredits, createdAtMs }: EndUserRow, nowMs: number): JsonObject => {
  const resetsAtMs = limit === null ? null : endUserWindowEndsAtMs(limit.window, nowMs);
  return {
    id: name,
    object: "end_user",
    limit_usd: limit === null ? null : usd(limit.credits),
    window: limit === null ? null : limit.window,
    spent_usd: usd(spentCredits),
    held_usd: usd(heldCredits),
    // A limit may be lowered below what is spent.
    left_usd: limit === null ? null : usd(Math.max(0, limit.credits - spentCredits)),
    resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
    created_at: new Date(createdAtMs).toISOString(),
  };
};

/** @throws ApiError `invalid_request` for an id that is no percent-encoded UTF-8, which could be the one of another end user */
const nameOf = ({ id = "" }: PathParams): string =>
  id.includes(REPLACEMENT) ? refuse("invalid_request", "id: must be UTF-8 in percent-encoding.") : id;
const unknown = () => refuse("not_found", "No end user with this id on the account.");

const shownEndUser = async ({ reads, clock }: EndUserDeps, { accountSeq }: Caller, name: string): Promise<JsonObject> => {
  const nowMs = clock.nowMs();
  return endUserObject((await reads.endUser(accountSeq, name, nowMs)) ?? unknown(), nowMs);
};

export const readEndUser =
  (deps: EndUserDeps): AuthenticatedHandler =>
  async (request, requestId, caller, params) => {
    requireUnlimitedKey(caller);
    readQuery(request, []);
    return answerJson(200, JSON.stringify(await shownEndUser(deps, caller, nameOf(params))), requestId);
  };

const setLimit = async (deps: EndUserDeps, caller: Caller, endUser: string, limit: SetEndUserLimit["limit"]) => {
  const { accountSeq } = caller;
  const atMs = deps.clock.nowMs();
  const outcome = await deps.setEndUserLimit({ mutation: "set-end-user-limit", accountSeq, endUser, limit, atMs });
  if (outcome.kind === "refused") throw new Error(`the store refused the limit of an end user: ${outcome.reason}`);
  return await shownEndUser(deps, caller, endUser);
};

export const putEndUser =
  (deps: EndUserDeps): AuthenticatedHandler =>
  async (request, requestId, caller, params) => {
    requireUnlimitedKey(caller);
    const { endUser, limit } = parseEndUserLimit(nameOf(params), await readBody(request));
    if (limit === null) await shownEndUser(deps, caller, endUser);
    return answerJson(200, JSON.stringify(await setLimit(deps, caller, endUser, limit)), requestId);
  };

export const deleteEndUserLimit =
  (deps: EndUserDeps): AuthenticatedHandler =>
  async (_request, requestId, caller, params) => {
    requireUnlimitedKey(caller);
    await shownEndUser(deps, caller, nameOf(params));
    return answerJson(200, JSON.stringify(await setLimit(deps, caller, nameOf(params), null)), requestId);
  };

export const listEndUsers =
  ({ reads, cursors, clock }: EndUserDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    requireUnlimitedKey(caller);
    const { limit, after } = readQuery(request, ["limit", "after"]);
    const size = integerIn("limit", limit, LIST_LIMIT);
    const scope = `end_users|${caller.accountId}`;
    const before = after === undefined ? null : cursors.read(scope, after);
    if (before === undefined) return refuse("invalid_request", "after: must be next of a page of this list.");
    const nowMs = clock.nowMs();
    // One more than the page, which decides whether there is a next one.
    const rows = await reads.endUsers(caller.accountSeq, nowMs, before, size + 1);
    const shown = rows.slice(0, size);
    const last = rows.length > size ? shown.at(-1) : undefined;
    const page = {
      object: "list",
      data: shown.map((row) => endUserObject(row, nowMs)),
      has_more: last !== undefined,
      next: last === undefined ? null : cursors.sign(scope, last.seq),
    };
    return answerJson(200, JSON.stringify(page), requestId);
  };
