// Marks a restored database while no node is alive.

import { type NodeRow, nodeName } from "../cluster-port.ts";
import { DatabaseUnavailable, StoreMigrated, WrongSchema } from "../errors.ts";
import { markingRestored } from "../sql/mark-restored.ts";
import { recoveryReads } from "../sql/queries/recovery.ts";
import type { Query } from "../sql/sql-program.ts";
import { type Address, type Connection, connect } from "./connections.ts";
import { NO_TABLE, stateOf } from "./errors.ts";
import { LOCK_OPENING, migrate, requireKnownSchema, STEPS_RUN, type StepRun } from "./migrate.ts";
import { requireComplete } from "./migration-marker.ts";
import { endAllDead } from "./node-lease.ts";
import { unavailableError } from "./server-requirements.ts";
import { carryOut, POSTGRES } from "./sql-program.ts";

/** A live node that prevents the mark. */
export type Alive = { node: string; pid: number; leaseEndsInMs: number };
/** `takenAtMs`: since when the data is missing. */
export type Adoption = { kind: "adopted"; takenAtMs: number } | { kind: "alive"; nodes: Alive[] };

const LEASES = `SELECT o.epoch, o.slot, o.host, o.pid, l.ends_at_ms - now_ms() AS "leaseEndsInMs"
  FROM lease l JOIN node o ON o.epoch = l.epoch ORDER BY o.epoch`;
type LeaseRow = Pick<NodeRow, "epoch" | "slot" | "host" | "pid"> & { leaseEndsInMs: number };

/** Runs inside the transaction with the opening lock, so that no node starts meanwhile. */
const adoptIn = async (line: Connection, nowMs: number): Promise<Adoption> => {
  const { rows: steps } = await line.send<StepRun>(STEPS_RUN);
  requireKnownSchema(steps);
  await requireComplete(line);
  // A database of an older build is converted here, because a node that opens it first would continue its attempts.
  await migrate(line, nowMs);
  // A suspended node must not continue later with its memory.
  await endAllDead(line);
  const { rows } = await line.send<LeaseRow>(LEASES);
  if (rows.length > 0)
    return { kind: "alive", nodes: rows.map((row) => ({ node: nodeName(row), pid: row.pid, leaseEndsInMs: row.leaseEndsInMs })) };
  const query: Query = async <Row>(sql: string, ...values: Parameters<Query>[1][]) => (await line.send<Row>(sql, ...values)).rows;
  // The highest stored time; later changes are missing.
  const takenAtMs = await recoveryReads(query, POSTGRES).lastSeenMs();
  return { kind: "adopted", takenAtMs: await carryOut(line, markingRestored({ takenAtMs, nowMs })) };
};

/**
 * Marks the database: nodes that open it later confirm in-flight attempts with their providers before they send anything. A
 * repeated call returns the same. Nothing changes while a node is alive.
 * @throws DatabaseUnavailable (../errors.ts), StoreMigrated, WrongSchema.
 */
export const adoptDatabase = async (address: Address, nowMs: number): Promise<Adoption> => {
  let line: Connection | undefined;
  try {
    line = await connect(address);
    await line.script("BEGIN; SET LOCAL lock_timeout = '60s'");
    await line.send(LOCK_OPENING);
    const adoption = await adoptIn(line, nowMs);
    await line.script(adoption.kind === "adopted" ? "COMMIT" : "ROLLBACK");
    return adoption;
  } catch (fault) {
    if (fault instanceof StoreMigrated || fault instanceof WrongSchema) throw fault;
    if (stateOf(fault) !== NO_TABLE) throw unavailableError(address.url, "adopted", fault);
    throw new DatabaseUnavailable("the database of GENROUTER_STORE__URL is empty: run the command after its restore");
  } finally {
    line?.close();
  }
};
