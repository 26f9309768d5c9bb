// Property of the ledger: after every commit, refusal, fault or restart the tables equal the model.
import type { Statement } from "bun:sqlite";
import { isDeepStrictEqual } from "node:util";
import type { MutationResult } from "../../src/domain/mutations.ts";
import { type Fault, PropertyStore } from "./database.ts";
import type { AccountModel } from "./ledger-account.ts";
import { ledgerImage, ROUNDS } from "./ledger-fixture.ts";
import {
  emptyModel,
  endUserSpentOf,
  type GenerationModel,
  type Model,
  type Predicted,
  predict,
  spentOf,
} from "./ledger-model.ts";
import { type Commit, lives, type Move } from "./ledger-moves.ts";
import type { Property } from "./property.ts";

type AccountRow = Record<"available" | "held" | "charged" | "owed" | "in_progress" | "paused", number> & {
  spent: number | null;
  end_user: string | null;
};
type GenerationRow = {
  status: string;
  cost: number | null;
  version: number | null;
  attempts: string | null;
  moved: string | null;
  commands: number;
};

const ACCOUNT_SQL = `SELECT available_credits AS available, held_credits AS held, charged_credits AS charged,
  owed_credits AS owed, in_progress, paused, (SELECT coalesce((SELECT sum(credits) FROM spend_by_day WHERE spend_limit_seq = m.seq), 0)
    FROM spend_limit m WHERE m.seq = account.seq) AS spent,
  (SELECT coalesce(u.limit_credits, 'free') || ' ' || coalesce(sum(d.spent_credits), 0) || ' ' || coalesce(sum(d.held_credits), 0)
    FROM end_user u LEFT JOIN end_user_day d ON d.end_user_seq = u.seq WHERE u.account_seq = account.seq AND u.erased_at_ms IS NULL GROUP BY u.seq) AS end_user FROM balance JOIN account ON seq = account_seq WHERE account.seq = ?1`;
const GENERATION_SQL = `SELECT g.status, g.cost_credits AS cost, (SELECT max(version) FROM generation_event WHERE generation_seq = g.seq) AS version,
  (SELECT group_concat(state) FROM (SELECT state FROM attempt WHERE generation_seq = g.seq ORDER BY attempt_no)) AS attempts,
  (SELECT group_concat(kind || ' ' || credits) FROM (SELECT kind, credits FROM transfer_log WHERE generation_seq = g.seq ORDER BY transfer_no)) AS moved,
  (SELECT count(*) FROM deadline WHERE generation_seq = g.seq) AS commands FROM generation g WHERE g.seq = ?1`;

const accountRow = (model: Model, seq: number, one: AccountModel): AccountRow => ({
  available: Number(one.available),
  held: Number(one.held),
  charged: Number(one.charged),
  owed: Number(one.owed),
  in_progress: Number(one.inProgress),
  paused: Number(one.isPaused),
  spent: one.isMetered ? Number(spentOf(model, seq)) : null,
  end_user: one.isEndUserKnown ? endUserText(model, seq, one) : null,
});
const endUserText = (model: Model, seq: number, { endUserLimit }: AccountModel): string => {
  const { spent, held } = endUserSpentOf(model, seq);
  return `${endUserLimit ?? "free"} ${spent} ${held}`;
};

const generationRow = (one: GenerationModel): GenerationRow => {
  const isOpen = one.status === "queued" || one.status === "running";
  const rest = one.reserved - (one.cost ?? 0n);
  const settled = isOpen ? [] : [one.cost ? `capture ${one.cost}` : "", rest > 0n ? `release ${rest}` : ""];
  return {
    status: one.status,
    cost: one.cost === null ? null : Number(one.cost),
    version: one.version === 0 ? null : one.version,
    attempts: one.attempts.length === 0 ? null : one.attempts.join(","),
    moved: [`hold ${one.reserved}`, ...settled].filter(Boolean).join(","),
    commands: isOpen ? 1 : 0,
  };
};

const agree = (what: string, seen: unknown, wanted: unknown): void => {
  if (!isDeepStrictEqual(seen, wanted))
    throw new Error(`${what} is ${JSON.stringify(seen)} and the model has ${JSON.stringify(wanted)}`);
};

/** One database with the statements of the comparison. */
const openTables = (image: Uint8Array) => {
  const store = new PropertyStore(image);
  let accounts: Statement<AccountRow, [number]>;
  let generations: Statement<GenerationRow, [number]>;
  const prepare = () => {
    accounts = store.db.prepare(ACCOUNT_SQL);
    generations = store.db.prepare(GENERATION_SQL);
  };
  prepare();
  return {
    store,
    reopen: () => {
      store.reopen();
      prepare();
    },
    /** Compares both accounts and the touched generations. */
    compare: (model: Model, touched: Iterable<number>): void => {
      for (const [seq, one] of model.accounts) agree(`account ${seq}`, accounts.get(seq), accountRow(model, seq, one));
      for (const seq of touched) {
        const one = model.generations.get(seq);
        agree(`generation ${seq}`, generations.get(seq), one ? generationRow(one) : null);
      }
    },
  };
};
type Tables = ReturnType<typeof openTables>;

const agreeOutcomes = (moves: readonly Move[], predicted: readonly Predicted[], outcomes: readonly MutationResult[]): void => {
  for (const [index, { kind, credits, touched }] of predicted.entries()) {
    const outcome = outcomes[index];
    const about = `the answer to ${JSON.stringify(moves[index])}`;
    agree(about, outcome?.kind, kind);
    if (outcome?.kind === "done" && credits !== undefined) agree(about, outcome.credits, credits);
    if (outcome && "record" in outcome) agree(about, outcome.record.seq, touched);
  }
};

/** Plays one commit on the store and the model. @returns the model afterwards. */
const play = (tables: Tables, model: Model, moves: readonly Move[], wished: Fault | null): Model => {
  const after = wished === null ? model : structuredClone(model);
  const pairs = moves.flatMap((move) => {
    const one = predict(after, move);
    return one ? [{ move, one }] : [];
  });
  if (pairs.length === 0) return model;
  const predicted = pairs.map(({ one }) => one);
  // After a refusal the store retries every mutation separately, and a defect would then remove one that others depend on.
  const fault = wished?.kind === "defect" && predicted.some(({ kind }) => kind === "refused") ? null : wished;
  const touched = new Set(predicted.flatMap((one) => one.touched ?? []));
  const { struck, outcomes } = tables.store.commit(
    predicted.map(({ mutation }) => mutation),
    fault,
  );
  if (tables.store.db.inTransaction) throw new Error("a transaction is left open");

  if (fault && struck && fault.kind === "full") {
    // The outcome is known: nothing was written, and the connection stays in use.
    agree("a commit without space", outcomes, "full");
    tables.compare(model, touched);
    return model;
  }
  if (fault && struck && fault.kind !== "defect") {
    agree("a commit that failed", outcomes, "unknown");
    tables.reopen();
    const standing = fault.kind === "written" ? after : model;
    tables.compare(standing, touched);
    return standing;
  }
  if (typeof outcomes === "string") throw new Error(`a commit without a fault ended ${outcomes}`);
  if (struck && predicted.length === 1) {
    // A mutation that throws is refused if it is alone; in a batch it is retried separately, and this one throws only once.
    agree("a mutation that throws", outcomes[0]?.kind, "refused");
    tables.compare(model, touched);
    return model;
  }
  agreeOutcomes(
    pairs.map(({ move }) => move),
    predicted,
    outcomes,
  );
  tables.compare(after, touched);
  return after;
};

const playLife = (tables: Tables, round: number, life: readonly Commit[]): void => {
  let model = emptyModel(round);
  for (const commit of life) {
    if (commit === "restart") tables.reopen();
    else model = play(tables, model, commit.moves, commit.fault);
    for (const [seq, { available, held, charged, put }] of model.accounts)
      if (available + held + charged !== put) throw new Error(`the model itself loses credits of account ${seq}`);
  }
  tables.compare(model, model.generations.keys());
};

/** Verifies the database of several lives; if a check fails, each life is verified separately. */
const verifyLives = (tables: Tables, lives: readonly (readonly Commit[])[], image: Uint8Array): void => {
  const found = tables.store.violations(null);
  tables.store.close();
  if (found.length === 0) return;
  for (const life of lives) {
    const alone = openTables(image);
    playLife(alone, 0, life);
    agree(`what verify finds after ${JSON.stringify(life)}`, alone.store.violations(null), []);
  }
  agree(`what verify finds after ${lives.length} lives on one database`, found, []);
};

/** Plays lives one after the other; several share a database, which is verified after the last. */
const openPlayer = () => {
  const image = ledgerImage();
  let tables: Tables | null = null;
  let played: (readonly Commit[])[] = [];
  let commands = 0;
  const finish = () => {
    const ended = tables;
    tables = null;
    if (ended) verifyLives(ended, played, image);
    played = [];
  };
  return {
    figures: () => ({ commands }),
    play: (life: readonly Commit[]): void => {
      if (played.length >= ROUNDS) finish();
      const here = tables ?? openTables(image);
      const before = played;
      // A failed life leaves a database that is not used again.
      tables = null;
      played = [];
      playLife(here, before.length, life);
      commands += life.length;
      tables = here;
      played = [...before, life];
    },
    finish,
  };
};

export const ledgerProperty: Property<Commit[]> = {
  name: "ledger",
  says: "keeps the tables equal to the model after every commit, and verify finds no violation at the end",
  runsOf: (runs) => runs,
  arbitrary: lives,
  open: openPlayer,
};
