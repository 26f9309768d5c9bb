// Opens the real store in memory from an image, with commits that can be made to fail at any statement.
import { Database, type SQLQueryBindings } from "bun:sqlite";
import { StoreFull, StoreUnknown } from "../../src/domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import { pack } from "../../src/store/sql/serialized-mutations.ts";
import { type Batch, createBatchRunner } from "../../src/store/sqlite/batch.ts";
import { ownDatabase } from "../../src/store/sqlite/initialize.ts";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { verifyAll } from "../../src/store/sqlite/verify/all.ts";
import type { CheckResult } from "../../src/store/store.ts";

/**
 * How a commit fails. `written`: the disk reports a failure, but the commit is stored. `lost`: the same, but it is
 * not stored. `torn`: a statement fails in the middle. `full`: no space. `defect`: one mutation throws, once.
 */
export type FaultKind = "written" | "lost" | "torn" | "full" | "defect";
export type Fault = { kind: FaultKind; at: number };

const sqliteFault = (code: string): Error => Object.assign(new Error(`planted: ${code}`), { code });

/** Whether a statement belongs to a mutation and does not open or close a transaction. */
const isWork = (sql: string): boolean => /^\s*(SELECT|INSERT|UPDATE|DELETE)\b/.test(sql);

/** Counts the statements of a connection and makes a chosen one fail. */
const failing = (db: Database) => {
  let planned: Fault | null = null;
  let count = 0;
  let hasStruck = false;
  const strike = (fault: Error): never => {
    hasStruck = true;
    throw fault;
  };
  const before = (sql: string): void => {
    if (planned === null) return;
    if (isWork(sql)) {
      if (count++ !== planned.at) return;
      const { kind } = planned;
      if (kind === "torn") strike(sqliteFault("SQLITE_IOERR_WRITE"));
      if (kind === "full") strike(sqliteFault("SQLITE_FULL"));
      if (kind === "defect") {
        planned = null;
        strike(new Error("planted: a defect in a mutation"));
      }
    } else if (sql === "COMMIT" && planned.kind !== "defect" && planned.kind !== "written")
      strike(sqliteFault(planned.kind === "full" ? "SQLITE_FULL" : "SQLITE_IOERR_FSYNC"));
  };
  const statements = new Set<{ finalize(): void }>();
  const prepare = db.prepare.bind(db);
  db.prepare = <Row, Params extends SQLQueryBindings | SQLQueryBindings[]>(sql: string, params?: Params) => {
    const statement = prepare<Row, Params>(sql, params);
    statements.add(statement);
    const run = statement.run.bind(statement);
    const get = statement.get.bind(statement);
    const all = statement.all.bind(statement);
    statement.run = (...values) => {
      before(sql);
      const changes = run(...values);
      if (sql === "COMMIT" && planned?.kind === "written") strike(sqliteFault("SQLITE_IOERR_FSYNC"));
      return changes;
    };
    statement.get = (...values) => {
      before(sql);
      return get(...values);
    };
    statement.all = (...values) => {
      before(sql);
      return all(...values);
    };
    return statement;
  };
  return {
    plan: (fault: Fault | null) => {
      planned = fault;
      count = 0;
      hasStruck = false;
    },
    /** Whether the fault occurred: a mutation that is refused alone reaches no commit, for example. */
    hasStruck: () => hasStruck,
    /** Finalizes every statement: an open statement keeps the connection and its memory alive. */
    finalize: () => {
      for (const statement of statements) statement.finalize();
      statements.clear();
    },
  };
};

/** An empty database after its initialization, created once; every run starts from a copy. */
export const prepareImage = (fill: (commit: (mutation: Mutation) => MutationResult) => void): Uint8Array => {
  const db = openWriter(":memory:");
  const batch = createBatchRunner(db, ownDatabase(db, ":memory:", "test", 0));
  fill((mutation) => batch([pack(mutation)])[0] ?? { kind: "refused", reason: "no outcome" });
  const image = db.serialize();
  db.close();
  return image;
};

/** The end of a commit: outcomes or the store's error, and whether the fault occurred. */
export type Committed = { struck: boolean; outcomes: MutationResult[] | "full" | "unknown" };

export class PropertyStore {
  db: Database;
  private batch: Batch;
  private faults: ReturnType<typeof failing>;

  constructor(image: Uint8Array) {
    const opened = this.open(image);
    this.db = opened.db;
    this.batch = opened.batch;
    this.faults = opened.faults;
  }

  commit(mutations: readonly Mutation[], fault: Fault | null = null): Committed {
    this.faults.plan(fault);
    const outcomes = this.outcomesOf(mutations);
    const struck = this.faults.hasStruck();
    this.faults.plan(null);
    return { struck, outcomes };
  }

  /** Reopens the database as a new process would, from nothing but the bytes. */
  reopen(): void {
    if (this.db.inTransaction) this.db.run("ROLLBACK");
    const image = this.db.serialize();
    this.close();
    Object.assign(this, this.open(image));
  }

  /** The violated invariants. */
  violations(nowMs: number | null): CheckResult[] {
    return verifyAll(this.db, nowMs).filter(({ ok }) => !ok);
  }

  close(): void {
    this.faults.finalize();
    this.db.close();
  }

  private outcomesOf(mutations: readonly Mutation[]): Committed["outcomes"] {
    try {
      return this.batch(mutations.map(pack));
    } catch (thrown) {
      if (thrown instanceof StoreFull) return "full";
      if (thrown instanceof StoreUnknown) return "unknown";
      throw thrown;
    }
  }

  private open(image: Uint8Array) {
    const db = Database.deserialize(image, { strict: true });
    db.run("PRAGMA journal_mode = memory");
    db.run("PRAGMA foreign_keys = 1");
    const epoch = ownDatabase(db, ":memory:", "test", 0);
    const faults = failing(db);
    return { db, batch: createBatchRunner(db, epoch), faults };
  }
}
