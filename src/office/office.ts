// The office: what an operator may do with accounts, keys and credits, written once for both ways of reaching it.
import type { Clock } from "../clock.ts";
import type { OfficeDeed, OfficeOutcome } from "../deeds.ts";
import { hashApiKey, newApiKey } from "../ids.ts";
import type { AccountRow, KeyRow, MovementRow, StoreReads } from "../store/store.ts";
import type { Submit } from "../submit.ts";
import type { Credits, KeyScope } from "../terms.ts";
import { OfficeFault } from "./fault.ts";
import { openProviderOffice, type ProviderOffice, type ProviderOfficeParts } from "./providers.ts";
import { idFor } from "./reference.ts";
import { openRouteTrials, type RouteTrials } from "./route-trial.ts";

export type CreatedAccount = { id: string; name: string; availableCredits: Credits };
export type CreatedKey = { id: string; key: string; accountId: string; scope: KeyScope };
/** `movedCredits`: what the command really moved; 0 when its reference had been used before. */
export type Credited = { account: AccountRow; movedCredits: Credits };
export type Statement = { account: AccountRow; movements: MovementRow[] };

/**
 * One method per operation; the answers are plain data, so that they travel over the control socket unchanged.
 * `reference` belongs to one wish of the operator: the same reference again never creates or credits twice.
 * Every method throws OfficeFault for a no.
 */
export type Office = {
  createAccount(ask: { reference: string; name: string; creditCredits: Credits }): Promise<CreatedAccount>;
  listAccounts(ask: Record<string, never>): Promise<AccountRow[]>;
  /** Members absent are left alone; a limit of null is the service's default again. */
  setAccount(ask: {
    id: string;
    paused?: boolean;
    burstPerS?: number | null;
    inProgressLimit?: number | null;
  }): Promise<AccountRow>;
  createKey(ask: { reference: string; accountId: string; scope: KeyScope; name: string }): Promise<CreatedKey>;
  listKeys(ask: { accountId: string | null }): Promise<KeyRow[]>;
  revokeKey(ask: { id: string }): Promise<KeyRow>;
  addCredits(ask: { reference: string; accountId: string; credits: Credits; note: string }): Promise<Credited>;
  /** Takes back a refunded or disputed purchase: at most what is available; a rest is owed and pauses the account. */
  takeCredits(ask: { reference: string; accountId: string; credits: Credits; note: string }): Promise<Credited>;
  showCredits(ask: { accountId: string; last: number }): Promise<Statement>;
} & ProviderOffice &
  RouteTrials;

export type OfficeParts = {
  reads: StoreReads;
  post: (deed: OfficeDeed) => Promise<OfficeOutcome>;
  /** Decides whether keys begin with `gr_test_` or `gr_live_`. */
  mode: "test" | "live";
  clock: Clock;
  /** Takes a submission in; null where no service runs. */
  submit: Submit | null;
} & Omit<ProviderOfficeParts, "post" | "clock" | "kept">;

/** How much of a key is kept to recognise it by: the prefix and four characters. */
const SHOWN_CHARS = 12;

const missing = (what: string, id: string, where: string): never => {
  throw new OfficeFault("notFound", `there is no ${what} ${id}`, {
    fix: `${where} shows those there are`,
    code: "not_found",
  });
};

const done = (outcome: OfficeOutcome): Extract<OfficeOutcome, { kind: "done" }> => {
  if (outcome.kind === "refused") throw new OfficeFault("refused", outcome.reason, { code: "refused" });
  return outcome;
};

/** The newest `limit` movements of an account, oldest first. */
export const lastMovements = async (reads: StoreReads, accountId: string, limit: number): Promise<MovementRow[]> =>
  (await reads.movements(accountId, null, limit)).reverse();

/** Opens the office over a store, whoever carries out its deeds: the running service's ledger or the store itself. */
export const openOffice = ({ reads, post, mode, clock, submit, ...market }: OfficeParts): Office => {
  const accountOf = async (id: string): Promise<AccountRow> =>
    (await reads.account(id)) ?? missing("account", id, "genrouter accounts list");

  const credit = async (
    kind: "topup" | "adjust",
    ask: { reference: string; accountId: string; credits: Credits; note: string },
  ): Promise<Credited> => {
    const before = await accountOf(ask.accountId);
    const outcome = done(
      await post({
        deed: "credit",
        accountSeq: before.seq,
        kind,
        credits: ask.credits,
        note: ask.note,
        reference: ask.reference,
        atMs: clock.nowMs(),
      }),
    );
    return { account: await accountOf(ask.accountId), movedCredits: outcome.credits ?? 0 };
  };

  const office: Omit<Office, keyof RouteTrials> = {
    ...openProviderOffice({ ...market, post, clock, kept: () => reads.providerKeys() }),
    createAccount: async ({ reference, name, creditCredits }) => {
      const id = idFor("acc", reference);
      if (!(await reads.account(id))) done(await post({ deed: "create-account", id, name, atMs: clock.nowMs() }));
      if (creditCredits > 0)
        await credit("topup", { reference: `${id} first credit`, accountId: id, credits: creditCredits, note: "first credit" });
      const row = await accountOf(id);
      return { id, name: row.name, availableCredits: row.availableCredits };
    },
    listAccounts: () => reads.accounts(),
    setAccount: async ({ id, ...change }) => {
      const row = await accountOf(id);
      done(await post({ deed: "set-account", accountSeq: row.seq, ...change }));
      return accountOf(id);
    },
    createKey: async ({ reference, accountId, scope, name }) => {
      const account = await accountOf(accountId);
      const id = idFor("key", reference);
      if ((await reads.keys(accountId)).some((row) => row.id === id))
        throw new OfficeFault("failure", `the key ${id} was made, but the answer that showed it was lost`, {
          fix: `genrouter keys revoke ${id}, then genrouter keys create again`,
          code: "key_not_shown",
        });
      const key = newApiKey(mode);
      const [hash, start] = [hashApiKey(key), key.slice(0, SHOWN_CHARS)];
      done(await post({ deed: "create-key", id, accountSeq: account.seq, scope, name, hash, start, atMs: clock.nowMs() }));
      return { id, key, accountId, scope };
    },
    listKeys: async ({ accountId }) => {
      if (accountId !== null) await accountOf(accountId);
      return reads.keys(accountId ?? undefined);
    },
    revokeKey: async ({ id }) => {
      const find = async () => (await reads.keys()).find((row) => row.id === id) ?? missing("key", id, "genrouter keys list");
      const row = await find();
      if (row.revokedAtMs !== null) return row;
      done(await post({ deed: "revoke-key", keyId: id, atMs: clock.nowMs() }));
      return find();
    },
    addCredits: (ask) => credit("topup", ask),
    takeCredits: (ask) => credit("adjust", { ...ask, credits: -ask.credits }),
    showCredits: async ({ accountId, last }) => ({
      account: await accountOf(accountId),
      movements: last === 0 ? [] : await lastMovements(reads, accountId, last),
    }),
  };
  return { ...office, ...openRouteTrials({ office, reads, submit, modelOf: market.market.modelOf }) };
};
