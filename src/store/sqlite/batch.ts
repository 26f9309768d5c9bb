// Commits a batch of mutations in one transaction; a rejected mutation is undone alone.
import type { Database } from "bun:sqlite";
import { StoreFull, StoreUnknown } from "../../domain/commit-errors.ts";
import type { MutationResult } from "../../domain/mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { SerializedMutation } from "../sql/serialized-mutations.ts";
import { prepareAdmit } from "./admit-generation.ts";
import { prepareStep } from "./apply-transition.ts";
import { prepareAttempts } from "./attempt.ts";
import { prepareBalanceAlerts } from "./balance-alerts.ts";
import { prepareEndUserRows } from "./end-users.ts";
import { faultCode, faultText } from "./errors.ts";
import { prepareInterned } from "./interned-strings.ts";
import { prepareLimits } from "./key-limits.ts";
import { prepareLedger } from "./ledger.ts";
import { prepareOutbox } from "./outbox.ts";
import { prepareCrediting, prepareSharedMutations } from "./shared-mutations.ts";
import { createSqlProgram } from "./sql-program.ts";

/** Runs mutations in order and returns after the commit. @throws StoreFull, StoreUnknown. */
export type Batch = (mutations: readonly SerializedMutation[]) => MutationResult[];

/** Whether an error concerns one mutation only: a constraint, a rejection or a defect in its code. */
const isOwnFault = (fault: unknown): boolean => {
  const code = faultCode(fault);
  return !code.startsWith("SQLITE_") || code.startsWith("SQLITE_CONSTRAINT");
};

/** Maps a disk error to an error of the port. An error that is neither "full" nor a constraint leaves the outcome unknown. */
const asStoreFault = (fault: unknown, during: string): Error => {
  const code = faultCode(fault);
  if (code === "SQLITE_FULL") return new StoreFull("the disk is full: nothing of the batch was written");
  return new StoreUnknown(`${during} failed and its outcome is not known: ${code} ${faultText(fault)}`);
};

/**
 * Prepares the statements of all mutations for the write connection. @param lowBalanceCredits threshold of accounts without their
 * own; 0: never
 */
export const createBatchRunner = (db: Database, epoch: number, lowBalanceCredits: Credits = 0): Batch => {
  const money = prepareLedger(db, epoch);
  const attempts = prepareAttempts(db);
  const plans = prepareInterned(db, "plan", "routes");
  const limits = prepareLimits(db);
  const endUsers = prepareEndUserRows(db);
  const outbox = prepareOutbox(db, epoch);
  const alerts = prepareBalanceAlerts(db, lowBalanceCredits);
  const admit = prepareAdmit(db, { money, plans, limits, endUsers, alerts, outbox });
  const answer = createSqlProgram(db);
  const crediting = prepareCrediting({ money, alerts, outbox });
  const settleDebt = (accountSeq: number, atMs: number) => answer(crediting.crediting.settle(accountSeq, atMs));
  const step = prepareStep(db, { epoch, money, attempts, limits, endUsers, outbox, settleDebt });
  const requested = prepareSharedMutations(crediting, { attempts, limits, endUsers });
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const savepoint = db.prepare("SAVEPOINT mutation");
  const undo = db.prepare("ROLLBACK TO mutation");
  const release = db.prepare("RELEASE mutation");

  const execute = (mutation: SerializedMutation): MutationResult => {
    switch (mutation.mutation) {
      case "admit":
        return admit(mutation);
      case "step":
        return step.carryOut(mutation);
      default:
        return answer(requested(mutation));
    }
  };
  const forget = () => {
    money.forget();
    attempts.forget();
    plans.forget();
    step.forget();
    limits.forget();
    endUsers.forget();
    alerts.forget();
    outbox.forget();
  };
  const executeSeparately = (mutation: SerializedMutation): MutationResult => {
    savepoint.run();
    let outcome: MutationResult;
    try {
      outcome = execute(mutation);
    } catch (fault) {
      if (!isOwnFault(fault)) throw fault;
      undo.run();
      forget();
      outcome = { kind: "refused", reason: faultText(fault) };
    }
    release.run();
    return outcome;
  };
  const rollBack = (): void => {
    forget();
    // SQLite rolls back by itself after some errors, such as a full disk.
    if (db.inTransaction) db.run("ROLLBACK");
  };
  const start = (): void => {
    try {
      begin.run();
    } catch (fault) {
      if (faultCode(fault).startsWith("SQLITE_BUSY"))
        throw new StoreFull("the database is locked: nothing of the batch was written");
      throw asStoreFault(fault, "beginning a transaction");
    }
  };
  const attemptAll = (
    mutations: readonly SerializedMutation[],
    one: (mutation: SerializedMutation) => MutationResult,
  ): MutationResult[] => {
    start();
    const outcomes = mutations.map(one);
    commit.run();
    return outcomes;
  };

  return (mutations) => {
    // The first pass runs without savepoints, which copy every touched page. Rejections are rare and cost a second pass.
    try {
      return attemptAll(mutations, execute);
    } catch (fault) {
      rollBackOr(fault, rollBack);
      if (fault instanceof StoreFull || fault instanceof StoreUnknown) throw fault;
      if (!isOwnFault(fault)) throw asStoreFault(fault, "writing a batch");
      if (mutations.length === 1) return [{ kind: "refused", reason: faultText(fault) }];
    }
    try {
      return attemptAll(mutations, executeSeparately);
    } catch (fault) {
      rollBackOr(fault, rollBack);
      if (fault instanceof StoreFull || fault instanceof StoreUnknown) throw fault;
      throw asStoreFault(fault, "writing a batch");
    }
  };
};

const rollBackOr = (fault: unknown, rollBack: () => void): void => {
  try {
    rollBack();
  } catch {
    throw asStoreFault(fault, "writing a batch and rolling it back");
  }
};
