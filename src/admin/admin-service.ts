// Admin service: operations on accounts, keys and credits for the command line and the console.

import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult, Principal } from "../domain/mutations.ts";
import type { Decide } from "../domain/operator-decision.ts";
import type { UndecidedReversal } from "../domain/purchase-mutations.ts";
import type { Credits, PromptRetention } from "../domain/types.ts";
import type { Submit } from "../generations/submit.ts";
import type { AccountRow, StoreReads, TransferRow } from "../store/store.ts";
import { createGenerationAdmin, type GenerationAdmin, type GenerationAdminDeps } from "./generations.ts";
import { createKeyAdmin, type KeyAdmin, missing, requireDone } from "./keys.ts";
import { type WithPrincipal, withPrincipal } from "./principal.ts";
import { createProviderAdmin, type ProviderAdmin, type ProviderAdminDeps } from "./providers.ts";
import { idFor } from "./request-reference.ts";
import { createRouteTrials, type RouteTrials } from "./route-trial.ts";
import { createUserAdmin, type UserAdmin, type UserAdminDeps } from "./users.ts";

export type CreatedAccount = { id: string; name: string; availableCredits: Credits };
/** `transferredCredits`: credits that the command transferred; 0 if its reference had been used before. */
export type Credited = { account: AccountRow; transferredCredits: Credits };
export type Statement = { account: AccountRow; transfers: TransferRow[] };

/**
 * One method per operation. The results are plain data, so that they can be sent over the control socket unchanged. `reference`
 * identifies one request of the operator: a repeated reference never creates or transfers twice. Every method throws AdminError
 * for a rejection. The caller may pass the principal (`by`), which is recorded with the change.
 */
export type AdminService = WithPrincipal<Methods>;
type Methods = {
  createAccount(request: { reference: string; name: string; creditCredits: Credits }): Promise<CreatedAccount>;
  listAccounts(ask: Record<string, never>): Promise<AccountRow[]>;
  /** Absent members are not changed; a limit of null restores the service's default. */
  setAccount(request: {
    id: string;
    paused?: boolean;
    burstPerS?: number | null;
    inProgressLimit?: number | null;
    promptRetentionS?: PromptRetention | null;
  }): Promise<AccountRow>;
  addCredits(query: { reference: string; accountId: string; credits: Credits; note: string }): Promise<Credited>;
  /**
   * Takes back a refunded or disputed purchase, at most the available balance. The remainder becomes debt and pauses the account.
   */
  takeCredits(request: { reference: string; accountId: string; credits: Credits; note: string }): Promise<Credited>;
  /** Refunds and disputes in a currency other than usd, whose amount in credits is undecided. */
  listUndecided(ask: Record<string, never>): Promise<UndecidedReversal[]>;
  /** Sets the credits that a reversal takes back from its purchase; 0 for none. */
  decideReversal(request: {
    id: string;
    credits: Credits;
    reason: string;
  }): Promise<{ transferredCredits: Credits; account: AccountRow | null }>;
  showCredits(query: { accountId: string; last: number }): Promise<Statement>;
  /** Confirms that the operator has checked the work that a restored backup does not contain. */
  settleRestored(request: { reason: string }): Promise<{ takenAtMs: number }>;
} & KeyAdmin &
  UserAdmin &
  ProviderAdmin &
  GenerationAdmin &
  RouteTrials;

export type AdminServiceDeps = {
  reads: StoreReads;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  /** Selects the prefix of keys, `gr_test_` or `gr_live_`. */
  mode: "test" | "live";
  clock: Clock;
  /** Admits a submission; null if no service runs. */
  submit: Submit | null;
  /** Passes a decision to the actor host of a generation; null if no service runs. */
  decide: Decide | null;
  isReachable?: GenerationAdminDeps["isReachable"];
  /** Called with each link that was made for a known address; absent: nothing is mailed. */
  linkMade?: UserAdminDeps["linkMade"];
} & Omit<ProviderAdminDeps, "post" | "clock" | "kept" | "nodes">;

/** More than any operator leaves undecided. */
const MAX_UNDECIDED = 1000;

/** The newest `limit` transfers of an account, oldest first. */
export const lastTransfers = async (reads: StoreReads, accountId: string, limit: number): Promise<TransferRow[]> =>
  (await reads.transfers(accountId, null, limit)).reverse();

/**
 * Creates the admin service for a store. Mutations are committed by the ledger actor of the running service or by the store
 * itself.
 */
export const createAdminService = (deps: AdminServiceDeps): AdminService =>
  withPrincipal((post, by) => openMethods({ ...deps, post, by }), deps.post, deps.clock);

const openMethods = ({
  reads,
  post,
  mode,
  clock,
  submit,
  decide,
  isReachable,
  linkMade = () => undefined,
  by,
  ...providerDeps
}: AdminServiceDeps & { by: Principal | null }): Methods => {
  const accountOf = async (id: string): Promise<AccountRow> =>
    (await reads.account(id)) ?? missing("account", id, "genrouter accounts list");

  const credit = async (
    kind: "topup" | "adjust",
    request: { reference: string; accountId: string; credits: Credits; note: string },
  ): Promise<Credited> => {
    const before = await accountOf(request.accountId);
    const outcome = requireDone(
      await post({
        mutation: "credit",
        accountSeq: before.seq,
        kind,
        credits: request.credits,
        note: request.note,
        reference: request.reference,
        atMs: clock.nowMs(),
      }),
    );
    return { account: await accountOf(request.accountId), transferredCredits: outcome.credits ?? 0 };
  };

  const admin: Omit<Methods, keyof RouteTrials> = {
    ...createProviderAdmin({ ...providerDeps, post, clock, kept: () => reads.providerKeys(), nodes: reads.nodes }),
    ...createUserAdmin({ reads, mode, post, clock, linkMade }),
    ...createGenerationAdmin({ reads, post, decide, isReachable, by, clock }),
    createAccount: async ({ reference, name, creditCredits }) => {
      const id = idFor("acc", reference);
      if (!(await reads.account(id))) {
        const outcome = await post({ mutation: "create-account", id, name, atMs: clock.nowMs() });
        // If the same reference is used twice at the same time, or on two nodes, both callers get the account that was created
        // first.
        if (outcome.kind === "refused" && !(await reads.account(id))) requireDone(outcome);
      }
      if (creditCredits > 0)
        await credit("topup", { reference: `${id} first credit`, accountId: id, credits: creditCredits, note: "first credit" });
      const row = await accountOf(id);
      return { id, name: row.name, availableCredits: row.availableCredits };
    },
    listAccounts: () => reads.accounts(),
    setAccount: async ({ id, ...change }) => {
      const row = await accountOf(id);
      requireDone(await post({ mutation: "set-account", accountSeq: row.seq, ...change }));
      return accountOf(id);
    },
    ...createKeyAdmin({ reads, post, mode, clock, accountOf, models: providerDeps.inventory.models }),
    addCredits: (request) => credit("topup", request),
    takeCredits: (request) => credit("adjust", { ...request, credits: -request.credits }),
    listUndecided: () => reads.undecidedReversals(MAX_UNDECIDED),
    decideReversal: async ({ id, credits, reason }) => {
      const found = (await reads.undecidedReversals(MAX_UNDECIDED)).find((one) => one.id === id);
      const outcome = requireDone(await post({ mutation: "decide-reversal", id, credits, reason, atMs: clock.nowMs() }));
      return { transferredCredits: outcome.credits ?? 0, account: found ? await accountOf(found.accountId) : null };
    },
    settleRestored: async ({ reason }) => {
      requireDone(await post({ mutation: "settle-restored", reason, atMs: clock.nowMs() }));
      return { takenAtMs: (await reads.restored())?.takenAtMs ?? 0 };
    },
    showCredits: async ({ accountId, last }) => ({
      account: await accountOf(accountId),
      transfers: last === 0 ? [] : await lastTransfers(reads, accountId, last),
    }),
  };
  return { ...admin, ...createRouteTrials({ admin, reads, submit, modelOf: providerDeps.inventory.modelOf }) };
};
