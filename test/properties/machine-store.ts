// Store of the machine's property: an account for each life, and one read of all data of a generation.

import type { ApplyTransition, OpenGeneration, TransitionResult } from "../../src/domain/transition.ts";
import type { Deadline, PlannedRoute } from "../../src/domain/types.ts";
import { attemptReads } from "../../src/store/sql/queries/attempts.ts";
import { generationReads } from "../../src/store/sql/queries/generations.ts";
import { recoveryReads } from "../../src/store/sql/queries/recovery.ts";
import { openQuery, SQLITE } from "../../src/store/sqlite/sql-program.ts";
import { STARTED_AT_MS, WAIT_MS } from "../machine/explore.ts";
import { PropertyStore, prepareImage } from "./database.ts";
import { CREDITS, type Seen } from "./machine-model.ts";

/** The number of lives on one database. */
export const ROUNDS = 25;

export const machineImage = (): Uint8Array =>
  prepareImage((commit) => {
    for (let seq = 1; seq <= ROUNDS; seq += 1) {
      commit({ mutation: "create-account", id: `acc_${seq}`, name: "", atMs: STARTED_AT_MS });
      const hash = String(seq).padStart(64, "0");
      const key = {
        id: `key_${seq}`,
        accountSeq: seq,
        scope: "generate",
        name: "",
        hash,
        start: "gr",
        atMs: STARTED_AT_MS,
      } as const;
      commit({ mutation: "create-key", ...key });
      const credit = {
        accountSeq: seq,
        kind: "topup",
        credits: CREDITS,
        note: "",
        reference: null,
        atMs: STARTED_AT_MS,
      } as const;
      commit({ mutation: "credit", ...credit });
    }
  });

type Born = { seq: number; id: string; accountSeq: number; plan: readonly PlannedRoute[] };

/** A life may end parked, and hours may pass in it without the deadlines that would have ended it. */
const ON_PURPOSE = ["parked:", "the deadline is later than every possible activity"];

export const openMachineStore = (image: Uint8Array) => {
  const store = new PropertyStore(image);
  const { db } = store;
  const query = openQuery(db);
  const { unfinished } = recoveryReads(query, SQLITE);
  const record = db.prepare<Seen["record"], [number]>(
    `SELECT status, quoted_credits AS quotedCredits, reserved_credits AS reservedCredits, cost_credits AS costCredits, attempts,
       completed_at_ms AS completedAtMs FROM generation WHERE seq = ?1`,
  );
  const commands = db.prepare<Deadline, [number]>(
    "SELECT kind, attempt_no AS n, at_ms AS dueAtMs FROM deadline WHERE generation_seq = ?1",
  );
  const attempts = db.prepare<Seen["attempts"][number], [number]>(
    "SELECT attempt_no AS n, state, price_credits AS price, route_id AS route, watch_until_ms AS watchUntilMs FROM attempt WHERE generation_seq = ?1 ORDER BY attempt_no",
  );
  const transfers = db.prepare<Seen["transfers"][number], [number]>(
    "SELECT kind, credits FROM transfer_log WHERE generation_seq = ?1 ORDER BY transfer_no",
  );
  const account = db.prepare<Seen["account"], [number]>(
    `SELECT available_credits AS available, held_credits AS held, charged_credits AS charged, in_progress AS inProgress
     FROM balance WHERE account_seq = ?1`,
  );
  const changes = db.prepare<{ n: number }, []>("SELECT total_changes() AS n");
  const one = (mutation: Parameters<typeof store.commit>[0][number]) => {
    const { outcomes } = store.commit([mutation]);
    if (typeof outcomes === "string" || !outcomes[0]) throw new Error(`a commit without a fault ended ${outcomes}`);
    return outcomes[0];
  };
  return {
    attempt: attemptReads(query).attempt,
    record: generationReads(query, SQLITE).generationBySeq,
    admit: ({ seq, id, accountSeq, plan }: Born): void => {
      const prices = plan.map(({ priceCredits }) => priceCredits);
      const admitted = one({
        ...{
          mutation: "admit",
          seq,
          id,
          accountSeq,
          keySeq: accountSeq,
          model: "m",
          idempotencyKey: null,
          requestId: "req",
        },
        ...{ body: '{"input":{}}', added: {}, plan: [...plan], maxCostCredits: CREDITS },
        ...{ quotedCredits: Math.min(...prices), reservedCredits: Math.max(...prices), inProgressLimit: 1 },
        ...{ createdAtMs: STARTED_AT_MS, waitEndsAtMs: STARTED_AT_MS + WAIT_MS },
      });
      if (admitted.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(admitted)}`);
    },
    step: (mutation: ApplyTransition): TransitionResult => one(mutation) as TransitionResult,
    resting: async (seq: number): Promise<OpenGeneration | undefined> => {
      const [found] = await unfinished(seq - 1, 1);
      return found?.seq === seq ? found : undefined;
    },
    seen: (seq: number, accountSeq: number): Seen => {
      const [row, balance] = [record.get(seq), account.get(accountSeq)];
      if (!row || !balance) throw new Error(`generation ${seq} or its account is gone`);
      return {
        ...{ record: row, account: balance },
        ...{ commands: commands.all(seq), attempts: attempts.all(seq), transfers: transfers.all(seq) },
      };
    },
    /** The number of rows that this connection has written. */
    changes: (): number => changes.get()?.n ?? 0,
    /** Verifies and closes the store; every violation is a fault, except those that a life causes on purpose. */
    verifyAndClose: (): void => {
      const found = store.violations(null).flatMap(({ invariant, offending }) => offending.map((row) => ({ invariant, ...row })));
      store.close();
      const faults = found.filter((row) => !("fault" in row && ON_PURPOSE.some((fault) => String(row.fault).startsWith(fault))));
      if (faults.length > 0) throw new Error(`verify finds ${JSON.stringify(faults)}`);
    },
  };
};
export type MachineStore = ReturnType<typeof openMachineStore>;
