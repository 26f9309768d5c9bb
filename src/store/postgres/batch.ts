// Commits a batch of mutations in one transaction; frequent ones run in groups.
//
// A rejected mutation is undone alone.

import type { AdminMutation, MutationResult } from "../../domain/mutations.ts";
import type { PurchaseMutation } from "../../domain/purchase-mutations.ts";
import { RESUMABLE_MUTATIONS } from "../../domain/resumable-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { UploadMutation } from "../../domain/upload-mutations.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import type { SerializedMutation } from "../sql/serialized-mutations.ts";
import type { SqlProgram } from "../sql/sql-program.ts";
import { type Connection, together } from "./connections.ts";
import { createBatchDecider, type DecideBatchDeps } from "./decide-batch.ts";
import { faultText, isOwn } from "./errors.ts";
import type { Work } from "./fenced-transactions.ts";
import { sendWrites } from "./flush-batch.ts";
import { type BatchedMutation, load } from "./load-batch.ts";
import { LOCK_ALL_BALANCES } from "./lock-balances.ts";
import { integers } from "./parameters.ts";
import { carryOut } from "./sql-program.ts";

export type BatchDeps = DecideBatchDeps & {
  /** Runs a mutation outside the fast path. */
  other: (mutation: AdminMutation | PurchaseMutation | UploadMutation) => SqlProgram<MutationResult>;
  /** Repays a debt from available credits. @returns the repaid credits. */
  settleDebt: (accountSeq: number, atMs: number) => SqlProgram<Credits>;
};

/** Frequent mutations that read nothing in order to change it, or lock the rows that they read; they take no admin lock. */
export const FREQUENT: ReadonlySet<SerializedMutation["mutation"]> = new Set([
  "note-key-use",
  "note-sessions-seen",
  "roll-up-usage",
  "save-route-health",
  "beat",
  "mark-attempt",
  "expire-files",
  "erase-generation",
  "finish-file-removal",
  "drop-pins",
  "begin-upload",
  "finish-upload",
  "abandon-upload",
  "delete-file",
  "forget-file",
  "remove-blob",
  ...RESUMABLE_MUTATIONS,
  "record-webhook-tries",
  "requeue-webhooks",
  "send-test-webhook",
  "sweep-webhooks",
  "set-end-user-limit",
]);
/**
 * All other mutations run one after another in the whole cluster, so their reads stay valid. The counter signals to other nodes
 * that cached accounts, keys and users may be outdated.
 */
const LOCK_ADMIN = "UPDATE meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'admin'";

const isHot = (mutation: SerializedMutation): mutation is BatchedMutation =>
  mutation.mutation === "admit" || mutation.mutation === "step";

/** Mutations that lock the balance of the account that they name. */
const LOCKS_ACCOUNT: ReadonlySet<SerializedMutation["mutation"]> = new Set([
  "admit",
  "credit",
  "settle-debt",
  "set-end-user-limit",
  "erase-generation",
  "set-low-balance",
]);

/** A batch of several groups locks the balances of all groups first. Group by group, two nodes could deadlock. */
const lockAll = (line: Connection, mutations: readonly SerializedMutation[]): Promise<unknown>[] => {
  const accounts = mutations.flatMap((one) =>
    LOCKS_ACCOUNT.has(one.mutation) && "accountSeq" in one && typeof one.accountSeq === "number" ? [one.accountSeq] : [],
  );
  const ending = mutations.flatMap((one) => (one.mutation === "step" && one.settlement ? [one.seq] : []));
  const bought = mutations.flatMap((one) => (one.mutation === "pay-purchase" ? [one.id] : []));
  const payments = mutations.flatMap((one) => ("paymentIntent" in one ? [one.paymentIntent] : []));
  if (accounts.length + ending.length + bought.length + payments.length === 0) return [];
  return [
    line.send(
      ...[LOCK_ALL_BALANCES, integers.of(accounts), integers.of(ending)],
      ...[JSON.stringify(bought), JSON.stringify(payments)],
    ),
  ];
};

/** Groups mutations in order: adjacent fast ones together, but never two of one generation; every other one alone. */
const grouped = (mutations: readonly SerializedMutation[], isAlone: boolean): SerializedMutation[][] => {
  const groups: SerializedMutation[][] = [];
  let seqs: Set<number> | undefined;
  for (const mutation of mutations) {
    if (!isHot(mutation) || isAlone || seqs === undefined || seqs.has(mutation.seq)) groups.push([]);
    groups.at(-1)?.push(mutation);
    if (!isHot(mutation) || isAlone) seqs = undefined;
    else if (groups.at(-1)?.length === 1) seqs = new Set([mutation.seq]);
    else seqs?.add(mutation.seq);
  }
  return groups;
};

/**
 * The transaction that runs mutations. @param isAlone each mutation can be undone separately. Without it, a violated constraint
 * or a repayment of a debt (DebtInTheWay) fails the whole batch, which is then repeated with it.
 */
export const batchOf =
  (mutations: readonly SerializedMutation[], isAlone: boolean, deps: BatchDeps): Work<MutationResult[]> =>
  async (line, begun) => {
    const groups = grouped(mutations, isAlone);
    const outcomes: MutationResult[] = [];
    // A mutation of a repeated batch may end the pause of an account.
    const isFrequent = !isAlone && mutations.every((mutation) => isHot(mutation) || FREQUENT.has(mutation.mutation));
    let sent: Promise<unknown>[] = isFrequent ? [] : [line.send(LOCK_ADMIN)];
    if (groups.length > 1) sent.push(...lockAll(line, mutations));
    for (const group of groups) {
      const [mutation] = group;
      if (mutation === undefined) continue;
      if (isHot(mutation) && !isAlone) {
        const reported = await hot(line, [begun, ...sent], group.filter(isHot), deps);
        outcomes.push(...reported.outcomes);
        sent = reported.sent;
        continue;
      }
      await together([begun, ...sent]);
      sent = [];
      outcomes.push(await alone(line, mutation, deps));
    }
    return { value: outcomes, sent };
  };

/** Decides a group in one round trip, together with earlier statements; its writes are sent without waiting. */
const hot = async (
  line: Connection,
  before: readonly Promise<unknown>[],
  mutations: readonly BatchedMutation[],
  deps: BatchDeps,
  settlesDebts = false,
) => {
  const loading = load(line, mutations);
  loading.catch(() => undefined);
  await together(before);
  const loaded = await loading;
  const { decide, writes } = createBatchDecider(loaded, deps, settlesDebts);
  const outcomes = mutations.map(decide);
  return { outcomes, sent: sendWrites(line, writes), heads: loaded.heads };
};

/** Runs one mutation and undoes its writes if it is rejected. */
const alone = async (line: Connection, mutation: SerializedMutation, deps: BatchDeps): Promise<MutationResult> => {
  await line.script("SAVEPOINT mutation");
  try {
    const outcome = isHot(mutation) ? await hotAlone(line, mutation, deps) : await carryOut(line, deps.other(mutation));
    await line.script("RELEASE mutation");
    return outcome;
  } catch (fault) {
    if (!(fault instanceof MutationRejected) && !isOwn(fault)) throw fault;
    await line.script("ROLLBACK TO mutation; RELEASE mutation");
    return { kind: "refused", reason: fault instanceof MutationRejected ? fault.message : faultText(fault) };
  }
};

const hotAlone = async (line: Connection, mutation: BatchedMutation, deps: BatchDeps): Promise<MutationResult> => {
  const { outcomes, sent, heads } = await hot(line, [], [mutation], deps, true);
  await together(sent);
  const [outcome] = outcomes;
  if (!outcome) throw new Error("a mutation has no outcome");
  if (mutation.mutation !== "step" || outcome.kind !== "stepped" || !mutation.settlement) return outcome;
  const { accountSeq } = outcome.record;
  if ((heads.get(accountSeq)?.owedCredits ?? 0) === 0) return outcome;
  const settledCredits = await carryOut(line, deps.settleDebt(accountSeq, mutation.atMs));
  return settledCredits > 0 ? { ...outcome, settledCredits } : outcome;
};
