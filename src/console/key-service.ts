// Key and usage operations of the console: members on their own account, operators on any.
//
// Viewers can read all accounts and change nothing.

import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { usageRange, usageView } from "../reports/usage.ts";
import { endUserSeries, type SeriesGrouping, type SeriesReads, usageSeries } from "../reports/usage-series.ts";
import type { AccountRow, StoreReads, UsageGrouping } from "../store/store.ts";
import { keyViews } from "./keys.ts";
import type { CreatedKeyDto, KeyRequest, KeysPage, KeyView, UsageDto, UsageSeriesDto } from "./keys-dto.ts";

/** The user of a request, from the session. */
export type Requester = { role: "member" | "viewer" | "operator"; accountId: string | null };
type Listed = Parameters<typeof keyViews>[0][number];

/** The parts of the admin service that these pages use; `by` is recorded with each change. */
export type KeyServiceDeps<By> = {
  reads: Pick<StoreReads, "account" | "key"> & SeriesReads;
  admin: {
    createKey(request: {
      reference: string;
      accountId: string;
      scope: KeyRequest["scope"];
      name: string;
      terms: Terms;
      by: By;
    }): Promise<{
      id: string;
      key: string;
    }>;
    listKeys(query: { accountId: string | null }): Promise<Listed[]>;
    setKey(request: { id: string; name?: string; by: By } & Partial<Terms>): Promise<Listed>;
    rotateKey(query: { reference: string; id: string; overlapMs: number; by: By }): Promise<{
      id: string;
      key: string;
      fromExpiresAtMs: number;
    }>;
    revokeKey(request: { id: string; by: By }): Promise<Listed>;
  };
  models: () => readonly { id: string; name: string }[];
  /** Rejects a change by a user who may only read. */
  forbid: (message: string) => never;
  rollUpUsage: () => Promise<void>;
  newReference: () => string;
  clock: Clock;
};
type Terms = Pick<KeyRequest, "expiresAtMs" | "models" | "limits">;

type UsageFilters = Partial<Record<"account" | "from" | "to" | "model" | "key", string | undefined>>;

const READ_ONLY = "Your role has read access only.";

export const createKeyService = <By>({ reads, admin, models, rollUpUsage, newReference, forbid, clock }: KeyServiceDeps<By>) => {
  const noAccount = (id: string) => new ApiError("not_found", `There is no account ${id}.`);
  const mayChange = (who: Requester, accountId: string) =>
    who.role === "operator" || (who.role === "member" && accountId === who.accountId);

  /** The requested account; another account is not found for a member. */
  const accountFor = async (who: Requester, requested: string | undefined): Promise<AccountRow> => {
    const id = requested ?? who.accountId;
    if (id === null) return refuse("invalid_request", "account: you have none of your own; name one.");
    if (id !== who.accountId && who.role === "member") throw noAccount(id);
    const account = await reads.account(id);
    if (!account) throw noAccount(id);
    return account;
  };
  /** Checks that the user can see the key and may change it. */
  const changeable = async (who: Requester, id: string): Promise<void> => {
    const row = await reads.key(id);
    const isSeen = row !== undefined && (who.role !== "member" || row.accountId === who.accountId);
    if (!isSeen) return refuse("not_found", `There is no key ${id}.`);
    if (!mayChange(who, row.accountId)) return forbid(READ_ONLY);
  };
  const one = (row: Listed): KeyView => {
    const [view] = keyViews([row], clock.nowMs());
    if (!view) throw new Error("a key has no view");
    return view;
  };

  /** The user's own account if none is named; null: all accounts, for operators and viewers by `*` or without an account. */
  const usageAccount = async (who: Requester, requested: string | undefined): Promise<AccountRow | null> => {
    const isOfAll = who.role !== "member" && (requested === "*" || (requested === undefined && who.accountId === null));
    return isOfAll ? null : accountFor(who, requested);
  };

  return {
    page: async (who: Requester, requested: string | undefined): Promise<KeysPage> => {
      const { id, name } = await accountFor(who, requested);
      const keys = keyViews(await admin.listKeys({ accountId: id }), clock.nowMs());
      const known = models().map((model) => ({ id: model.id, name: model.name }));
      return { account: { id, name }, keys, models: known, mayChange: mayChange(who, id) };
    },
    make: async (
      who: Requester,
      requested: string | undefined,
      { name, scope, ...terms }: KeyRequest,
      by: By,
    ): Promise<CreatedKeyDto> => {
      const { id: accountId } = await accountFor(who, requested);
      if (!mayChange(who, accountId)) return forbid(READ_ONLY);
      const { id, key } = await admin.createKey({ reference: newReference(), accountId, scope, name, terms, by });
      return { id, key, fromExpiresAtMs: null };
    },
    change: async (who: Requester, id: string, change: Partial<Omit<KeyRequest, "scope">>, by: By): Promise<KeyView> => {
      await changeable(who, id);
      return one(await admin.setKey({ id, ...change, by }));
    },
    rotate: async (who: Requester, id: string, overlapMs: number, by: By): Promise<CreatedKeyDto> => {
      await changeable(who, id);
      const made = await admin.rotateKey({ reference: newReference(), id, overlapMs, by });
      return { id: made.id, key: made.key, fromExpiresAtMs: made.fromExpiresAtMs };
    },
    revoke: async (who: Requester, id: string, by: By): Promise<KeyView> => {
      await changeable(who, id);
      return one(await admin.revokeKey({ id, by }));
    },
    /** @throws ApiError for an invalid or too long range of days. */
    usage: async (who: Requester, request: UsageFilters & { by: UsageGrouping }): Promise<UsageDto> => {
      const account = await usageAccount(who, request.account);
      if (request.by === "account" && who.role === "member") return refuse("invalid_request", "by: day, model or key.");
      const range = usageRange(request, clock.nowMs());
      const { by, model = null, key: keyId = null } = request;
      await rollUpUsage();
      return usageView(reads, { ...range, accountId: account?.id ?? null, by, model, keyId });
    },
    /** Usage by day and group, for a chart. @throws ApiError for an invalid range or combination of filters */
    series: async (
      who: Requester,
      request: UsageFilters & { by: SeriesGrouping; endUser?: string | undefined },
    ): Promise<UsageSeriesDto> => {
      const account = await usageAccount(who, request.account);
      const { by, model = null, key: keyId = null, endUser = null } = request;
      if (by === "account" && who.role === "member") return refuse("invalid_request", "by: one of model, key, end_user.");
      const range = usageRange(request, clock.nowMs());
      const isOfEndUsers = by === "end_user" || endUser !== null;
      if (isOfEndUsers && (model !== null || keyId !== null))
        return refuse("invalid_request", "end_user: cannot be combined with model or key, because usage is not counted by both.");
      await rollUpUsage();
      if (by === "end_user" || endUser !== null)
        return account === null
          ? refuse("invalid_request", "account: end users belong to one account; name one.")
          : endUserSeries(reads, { ...range, account, endUser, nowMs: clock.nowMs() });
      return usageSeries(reads, { ...range, accountId: account?.id ?? null, by, model, keyId });
    },
  };
};
