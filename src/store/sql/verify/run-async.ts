// Runs the checks of a store over streamed rows, clause by clause in one transaction.
import type { JsonObject } from "../../../domain/types.ts";
import type { CheckResult } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Value } from "../sql-program.ts";
import { CHAIN_ACCOUNTS, CHAIN_FAULTS, CHAIN_ROWS, type ChainAccount, type ChainRow, createChainWalk } from "./chain.ts";
import { type Check, type Clause, type Offender, offenderOf, statementOf } from "./check.ts";
import { createReport, judge, judgeSoFar } from "./report.ts";

/** Streams rows, possibly all stored ones. After a failed or partly read statement, another one can run. */
export type Rows = <Row>(sql: string, ...values: Value[]) => AsyncIterable<Row>;

export type Seen = {
  rows: Rows;
  words: Dialect;
  /** Null: the service is not running, so overdue deadlines are not checked. */
  nowMs: number | null;
  /** The reason of a failed statement, for the report. @throws the error if no further statement can run. */
  reasonOf(fault: unknown): string;
};

export type Runnable = { faults: readonly string[]; isNote?: true; offending(seen: Seen): AsyncIterable<Offender> };

export const runnable = (clause: Clause): Runnable => ({
  faults: clause.faults,
  ...(clause.isNote ? { isNote: true as const } : {}),
  async *offending({ rows, words, nowMs }) {
    const statement = statementOf(clause, words, nowMs);
    if (!statement) return;
    for await (const row of rows<JsonObject>(statement.sql, ...statement.values)) {
      const offender = offenderOf(clause, row);
      if (offender) yield offender;
    }
  },
});

export const chains: Runnable = {
  faults: CHAIN_FAULTS,
  async *offending({ rows }) {
    const walk = createChainWalk();
    for await (const account of rows<ChainAccount>(CHAIN_ACCOUNTS)) walk.begin(account);
    for await (const row of rows<ChainRow>(CHAIN_ROWS)) {
      const broken = walk.meet(row);
      if (broken) yield broken;
    }
    yield* walk.end();
  },
};

/** The first violating rows of a clause, as many per message as are reported. */
const offendersOf = async ({ faults, offending }: Runnable, seen: Seen): Promise<JsonObject[]> => {
  const { rows, report, breakOff } = createReport(faults);
  try {
    for await (const row of offending(seen)) if (report(row)) break;
  } catch (fault) {
    breakOff(seen.reasonOf(fault));
  }
  return rows;
};

/** @param report Called after each clause. */
export const verifyOver = async (
  checks: readonly Check<Runnable>[],
  seen: Seen,
  report?: (done: number, of: number, soFar: CheckResult[]) => void,
): Promise<CheckResult[]> => {
  const offenders = new Map<Runnable, JsonObject[]>();
  const all = checks.flatMap(({ clauses }) => clauses);
  for (const one of all) {
    offenders.set(one, await offendersOf(one, seen));
    report?.(offenders.size, all.length, judgeSoFar(checks, offenders));
  }
  return judge(checks, offenders);
};
