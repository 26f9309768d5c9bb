// Computes the complete answer of the capacity calculator for a rate.
//
// The answer contains the store, node counts, retention, saturation and advice.
import { SLOTS } from "../../domain/ids.ts";
import { costsOf, MEASURED } from "./costs.ts";
import type { Measured, StoreName } from "./measured.ts";
import {
  bucketOf,
  type CapacityRequest,
  connectionsOf,
  type Load,
  loadOn,
  logOf,
  nodeMemoryOf,
  nodesNeeded,
  retentionOf,
  type Saturation,
  saturations,
} from "./plan.ts";

/**
 * Bounds that are estimated, not measured: values at which operators of databases notice problems, as docs/GROWTH.md explains.
 */
export const JUDGED = {
  /** A file of this size can still be copied, verified and moved within hours. */
  sqliteBytes: 200e9,
  /** Indexes of a table of this size no longer fit into the memory of an ordinary server. */
  partitionBytes: 100e9,
  /** A database of this size can be restored within a night. */
  archiveBytes: 1e12,
  /** Cores in use by one primary, and its log, up to which a single machine can be bought. */
  primaryCores: 32,
  logBytesPerS: 100e6,
};

export type Why = "thread" | "writer" | "bytes";
export type Advice = "partition" | "archive" | "shard" | "slots";
export type Answer = {
  request: CapacityRequest;
  store: StoreName;
  /** Resources that a single machine with SQLite lacks; empty if it is sufficient. */
  sqliteLacks: Why[];
  load: Load;
  /** Cores of the database that keep its load within the planned utilization. */
  databaseCoresPlanned: number;
  maxRunningPerNode: number;
  maxRunningPerRoute: number;
  log: ReturnType<typeof logOf>;
  tables: ReturnType<typeof retentionOf>;
  database: { rowsPerS: number; rowsPerDay: number; bytesPerDay: number; bytesKept: number };
  bucket: ReturnType<typeof bucketOf>;
  connections: number;
  memoryBytes: number;
  ends: Saturation[];
  advice: Advice[];
};

const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
const databaseOf = (tables: Answer["tables"]) => ({
  rowsPerS: sum(tables.map(({ rowsPerDay }) => rowsPerDay)) / 86_400,
  rowsPerDay: sum(tables.map(({ rowsPerDay }) => rowsPerDay)),
  bytesPerDay: sum(tables.map(({ bytesPerDay }) => bytesPerDay)),
  bytesKept: sum(tables.map(({ bytesKept }) => bytesKept)),
});

/** Reasons why one machine with SQLite cannot carry the load. */
const lacking = (request: CapacityRequest, measured: Measured): Why[] => {
  const costs = costsOf(measured, "sqlite");
  const { busiestThread, commits } = loadOn(costs, request, "sqlite", 1);
  const lacks: Why[] = [];
  if (busiestThread > request.full) lacks.push("thread");
  if (commits.busy > request.full) lacks.push("writer");
  if (databaseOf(retentionOf(costs, request)).bytesKept > JUDGED.sqliteBytes) lacks.push("bytes");
  return lacks;
};

const advised = ({ tables, database, log, load, store }: Omit<Answer, "advice">, isShort: boolean): Advice[] => {
  const advice: Advice[] = [];
  if (store === "sqlite") return advice;
  if (tables.some(({ bytesKept }) => bytesKept > JUDGED.partitionBytes)) advice.push("partition");
  if (database.bytesKept > JUDGED.archiveBytes) advice.push("archive");
  if (load.databaseCores > JUDGED.primaryCores || log.atMostPerS > JUDGED.logBytesPerS) advice.push("shard");
  if (isShort) advice.push("slots");
  return advice;
};

/** @param store the requested store; null selects SQLite if it is sufficient. @param readers read connections per node. */
export const answerTo = (request: CapacityRequest, wished: StoreName | null, readers: number, measured = MEASURED): Answer => {
  const sqliteLacks = lacking(request, measured);
  const isAlone = sqliteLacks.length === 0 && (request.nodes ?? 1) === 1;
  const store = wished ?? (isAlone ? "sqlite" : "postgres");
  const costs = costsOf(measured, store);
  const needed = store === "sqlite" ? 1 : (request.nodes ?? nodesNeeded(costs, request));
  const load = loadOn(costs, request, store, needed ?? SLOTS);
  const tables = retentionOf(costs, request);
  const { nodes, inFlight } = load;
  const databaseCoresPlanned = Math.max(1, Math.ceil(load.databaseCores / request.full));
  const reported = {
    ...{ request, store, sqliteLacks, load, databaseCoresPlanned, tables, database: databaseOf(tables) },
    maxRunningPerNode: Math.ceil(inFlight.seldomMore / nodes),
    maxRunningPerRoute: Math.ceil(inFlight.seldomMore / request.routes),
    log: logOf(costs, store, request.rate, load),
    bucket: bucketOf(request),
    connections: store === "sqlite" ? 0 : connectionsOf(nodes, readers),
    memoryBytes: nodeMemoryOf(costs, load),
    ends: saturations(costs, request, store, nodes, databaseCoresPlanned),
  };
  return { ...reported, advice: advised(reported, needed === null) };
};
