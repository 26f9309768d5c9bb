// Admin operations on keys: create, change, rotate, revoke, and list with their spend.
import type { Model } from "../../catalogue/schema.ts";
import type { Clock } from "../domain/clock.ts";
import { hashApiKey, newApiKey } from "../domain/ids.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import type { KeyLimits, KeyScope, KeyTerms } from "../domain/types.ts";
import type { AccountRow, KeyRow, KeySpend, StoreReads } from "../store/store.ts";
import { AdminError } from "./admin-error.ts";
import { idFor } from "./request-reference.ts";
import { rollUpUsage } from "./roll-up-usage.ts";

export type CreatedKey = { id: string; key: string; accountId: string; scope: KeyScope };
/** From `fromExpiresAtMs` on, requests with the key `from` are rejected. */
export type RotatedKey = CreatedKey & { from: string; fromExpiresAtMs: number };
export type ListedKey = KeyRow & { spend: KeySpend };
/** Absent members are not changed. */
export type KeyChange = { name?: string; limits?: Partial<KeyLimits> } & Partial<Pick<KeyTerms, "expiresAtMs" | "models">>;

/** Every method throws AdminError for a rejection. */
export type KeyAdmin = {
  createKey(request: {
    reference: string;
    accountId: string;
    scope: KeyScope;
    name: string;
    terms?: Partial<Omit<KeyTerms, "limits">> & { limits?: Partial<KeyLimits> };
  }): Promise<CreatedKey>;
  listKeys(query: { accountId: string | null }): Promise<ListedKey[]>;
  setKey(request: { id: string } & KeyChange): Promise<ListedKey>;
  /** Creates a key with the same policy. The old key is rejected after `overlapMs`, 30 days at most. */
  rotateKey(query: { reference: string; id: string; overlapMs: number }): Promise<RotatedKey>;
  revokeKey(request: { id: string }): Promise<ListedKey>;
};

export type KeyAdminDeps = {
  reads: StoreReads;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  mode: "test" | "live";
  clock: Clock;
  accountOf: (id: string) => Promise<AccountRow>;
  models: () => readonly Model[];
};

export const MAX_OVERLAP_MS = 30 * 86_400_000;
/** Stored prefix of a key by which it can be recognized: the fixed prefix and four characters. */
const SHOWN_CHARS = 12;
const NO_LIMITS: KeyLimits = { day: null, week: null, month: null };

export const missing = (what: string, id: string, where: string): never => {
  throw new AdminError("notFound", `there is no ${what} ${id}`, {
    fix: `${where} prints the valid ids`,
    code: "not_found",
  });
};

export const requireDone = (outcome: AdminResult): Extract<AdminResult, { kind: "done" }> => {
  if (outcome.kind === "refused") throw new AdminError("refused", outcome.reason, { code: "refused" });
  return outcome;
};

const refused = (why: string, fix: string): never => {
  throw new AdminError("refused", why, { fix, code: "refused" });
};

export const createKeyAdmin = ({ reads, post, mode, clock, accountOf, models }: KeyAdminDeps): KeyAdmin => {
  const rowOf = async (id: string): Promise<KeyRow> => (await reads.key(id)) ?? missing("key", id, "genrouter keys list");

  const catchUp = () => rollUpUsage({ reads, post, breathe: async () => undefined });
  const listed = async (accountId?: string): Promise<ListedKey[]> => {
    await catchUp();
    const spend = await reads.keySpend(clock.nowMs(), accountId);
    return (await reads.keys(accountId)).flatMap((row) => {
      const spent = spend.get(row.id);
      return spent ? [{ ...row, spend: spent }] : [];
    });
  };
  const show = async (id: string): Promise<ListedKey> =>
    (await listed((await rowOf(id)).accountId)).find((row) => row.id === id) ?? missing("key", id, "genrouter keys list");

  /** @throws AdminError for a policy that would make a key unusable. */
  const requireValidLimits = ({ expiresAtMs, models: named }: Pick<KeyChange, "expiresAtMs" | "models">): void => {
    if (typeof expiresAtMs === "number" && expiresAtMs <= clock.nowMs())
      refused("a key cannot expire in the past", "genrouter keys revoke revokes a key immediately");
    const known = new Set(models().map(({ id }) => id));
    const unknown = named?.find((id) => !known.has(id));
    if (unknown !== undefined) refused(`there is no model ${unknown}`, "genrouter models --all lists the available models");
  };

  const newKey = () => {
    const key = newApiKey(mode);
    return { key, hash: hashApiKey(key), start: key.slice(0, SHOWN_CHARS) };
  };
  const requireNewKey = async (id: string): Promise<void> => {
    if ((await reads.key(id)) !== undefined)
      throw new AdminError("failure", `the key ${id} was created, but the response with it was lost`, {
        fix: `genrouter keys revoke ${id}, then genrouter keys create again`,
        code: "key_not_shown",
      });
  };

  return {
    createKey: async ({ reference, accountId, scope, name, terms = {} }) => {
      const account = await accountOf(accountId);
      const id = idFor("key", reference);
      await requireNewKey(id);
      requireValidLimits(terms);
      const { key, hash, start } = newKey();
      const { expiresAtMs = null, models: named = null, limits = {} } = terms;
      const whole: KeyTerms = { expiresAtMs, models: named, limits: { ...NO_LIMITS, ...limits } };
      const isBound = expiresAtMs !== null || named !== null || Object.keys(limits).length > 0;
      const made = { id, accountSeq: account.seq, scope, name, hash, start, ...(isBound ? { terms: whole } : {}) };
      requireDone(await post({ mutation: "create-key", ...made, atMs: clock.nowMs() }));
      return { id, key, accountId, scope };
    },
    listKeys: async ({ accountId }) => {
      if (accountId !== null) await accountOf(accountId);
      return listed(accountId ?? undefined);
    },
    setKey: async ({ id, ...change }) => {
      await rowOf(id);
      requireValidLimits(change);
      // A first limit includes earlier spend. Catching up here relieves the store's writer of this sum.
      if (change.limits) await catchUp();
      requireDone(await post({ mutation: "set-key", keyId: id, ...change, atMs: clock.nowMs() }));
      return show(id);
    },
    rotateKey: async ({ reference, id: from, overlapMs }) => {
      const { accountId, scope } = await rowOf(from);
      const id = idFor("key", reference);
      await requireNewKey(id);
      const { key, hash, start } = newKey();
      requireDone(await post({ mutation: "rotate-key", keyId: from, overlapMs, id, hash, start, atMs: clock.nowMs() }));
      return { id, key, accountId, scope, from, fromExpiresAtMs: (await rowOf(from)).expiresAtMs ?? clock.nowMs() };
    },
    revokeKey: async ({ id }) => {
      const row = await rowOf(id);
      if (row.revokedAtMs === null) requireDone(await post({ mutation: "revoke-key", keyId: id, atMs: clock.nowMs() }));
      return show(id);
    },
  };
};
