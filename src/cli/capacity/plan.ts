// Capacity calculator: load of nodes, database, log and bucket at a given rate.
import { SLOTS } from "../../domain/ids.ts";
import { type Costs, linearAt } from "./costs.ts";
import { type Grouped, groupCommits, MAX_IN_A_COMMIT } from "./group-commit.ts";
import { type Run, runsOf, seldomMore } from "./in-flight.ts";
import type { StoreName } from "./measured.ts";

export type CapacityRequest = {
  /** Generations per second, and the mean run time at the provider, s. */
  rate: number;
  runS: number;
  /** Client polls per generation. */
  polls: number;
  resultBytes: number;
  keepFilesDays: number;
  keepRowsDays: number;
  /** Number of routes that share the load. */
  routes: number;
  /** Number of nodes; null: as many as needed. */
  nodes: number | null;
  /** Planned utilization of a core, 0 to 1. */
  full: number;
  /** Duration of an fsync of the database's disk, and of a round trip between node and database, ms. */
  syncMs: number;
  roundTripMs: number;
};

/** Connections of a node in addition to its configured read connections: one for writes and one for the lease. */
const WRITING_CONNECTIONS = 2;
/** A batch takes two round trips, one for the decision and one for the write. */
const ROUND_TRIPS = 2;
const DAY_S = 86_400;

export type Load = {
  nodes: number;
  run: Run;
  mutationsPerS: number;
  commits: Grouped;
  /** Cores in use: of all nodes together, of the busiest thread of one node, of the database. */
  nodeCores: number;
  busiestThread: number;
  databaseCores: number;
  /** Concurrent generations: the mean, and the number that is rarely exceeded. */
  inFlight: { mean: number; seldomMore: number };
};

/** Duration of a commit: the sequential work of node and database, the round trips, and the fsync. */
export const commitMs =
  (costs: Costs, { syncMs, roundTripMs }: CapacityRequest, store: StoreName, waitMs = 0) =>
  (mutations: number): number =>
    linearAt(costs.commit.nodeMs, mutations) +
    linearAt(costs.commit.databaseMs, mutations) +
    syncMs +
    (store === "postgres" ? ROUND_TRIPS * roundTripMs + waitMs : 0);

/** CPU time of a node's main thread per generation without commits, ms. */
const threadMs = (costs: Costs, request: CapacityRequest, run: Run, nodes: number): number => {
  const elsewhere = 1 - 1 / nodes;
  const pollMs = costs.pollMs * (1 - elsewhere) + costs.pollElsewhere.nodeMs * elsewhere;
  return costs.lifeMs + run.polls * costs.lookMs + request.polls * pollMs;
};

const TURNS = 30;

/**
 * Load of the given number of nodes. Commits wait for the thread that also does all other work, so both are computed iteratively.
 */
export const loadOn = (costs: Costs, request: CapacityRequest, store: StoreName, nodes: number): Load => {
  const { rate } = request;
  const run = runsOf(request.runS);
  const mutationsPerS = rate * costs.mutations;
  const ownMs = threadMs(costs, request, run, nodes);
  const own = (rate * ownMs) / 1000 / nodes;
  const isShared = store === "postgres";
  let commits = groupCommits(mutationsPerS / nodes, commitMs(costs, request, store));
  let busiestThread = own;
  const committing = () => (commits.perS / 1000) * linearAt(costs.commit.nodeMs, commits.batch);
  for (let turn = 0; turn < TURNS; turn += 1) {
    // SQLite writes in a separate thread.
    busiestThread = isShared ? own + committing() : Math.max(own, committing());
    if (!isShared || busiestThread >= 1) break;
    // Duration of a queued task before the commit's task in the event loop; a commit waits for it twice.
    const taskMs = costs.lifeMs / costs.mutations;
    const waitMs = (own * taskMs) / (1 - busiestThread);
    const next = groupCommits(mutationsPerS / nodes, commitMs(costs, request, store, waitMs));
    const isSettled = Math.abs(next.batch - commits.batch) < 1e-4 * commits.batch;
    commits = next;
    if (isSettled) break;
  }
  const reads = rate * (costs.readsMs + (isShared ? request.polls * (1 - 1 / nodes) * costs.pollElsewhere.databaseMs : 0));
  const databaseCores = (nodes * commits.perS * linearAt(costs.commit.databaseMs, commits.batch) + reads) / 1000;
  const inFlight = rate * (request.runS + run.lateS + (commits.takesMs * (costs.mutations - 1)) / 1000);
  return {
    ...{ nodes, run, mutationsPerS, commits, nodeCores: nodes * (own + committing()), busiestThread, databaseCores },
    inFlight: { mean: inFlight, seldomMore: seldomMore(inFlight) },
  };
};

/**
 * Minimum number of nodes whose busiest thread and whose writer stay within the planned utilization; null if SLOTS nodes are not
 * sufficient.
 */
export const nodesNeeded = (costs: Costs, request: CapacityRequest): number | null => {
  for (let nodes = 1; nodes <= SLOTS; nodes += 1) {
    const { busiestThread, commits } = loadOn(costs, request, "postgres", nodes);
    // A writer may be busy permanently, because its commits then grow; it must only not fall behind.
    if (busiestThread <= request.full && commits.batch <= MAX_IN_A_COMMIT * request.full) return nodes;
  }
  return null;
};

export type Saturation = { part: "node" | "writer" | "database"; rate: number };

/**
 * Rate at which each part is saturated, with commits of maximum size. The smallest rate is the limit.
 * @param databaseCores cores of the database; ignored for SQLite.
 */
export const saturations = (
  costs: Costs,
  request: CapacityRequest,
  store: StoreName,
  nodes: number,
  databaseCores: number,
): Saturation[] => {
  const run = runsOf(request.runS);
  const perMutation = (cost: { each: number; mutation: number }): number => cost.each / MAX_IN_A_COMMIT + cost.mutation;
  const isShared = store === "postgres";
  const ownMs = threadMs(costs, request, run, nodes) + (isShared ? costs.mutations * perMutation(costs.commit.nodeMs) : 0);
  const writerMs = (costs.mutations * commitMs(costs, request, store)(MAX_IN_A_COMMIT)) / MAX_IN_A_COMMIT;
  const readMs = costs.readsMs + request.polls * (1 - 1 / nodes) * costs.pollElsewhere.databaseMs;
  const databaseMs = costs.mutations * perMutation(costs.commit.databaseMs) + readMs;
  const all: Saturation[] = [
    { part: "node", rate: (1000 * nodes) / ownMs },
    { part: "writer", rate: (1000 * nodes) / writerMs },
  ];
  if (isShared) all.push({ part: "database", rate: (1000 * databaseCores) / databaseMs });
  return all.sort((a, b) => a.rate - b.rate);
};

export type Retention = { rowsPerDay: number; bytesPerDay: number; bytesKept: number };
export const retentionOf = (costs: Costs, { rate, keepRowsDays }: CapacityRequest): (Retention & { table: string })[] =>
  costs.tables.map(({ table, rows, bytes }) => ({
    ...{ table, rowsPerDay: rate * rows * DAY_S, bytesPerDay: rate * bytes * DAY_S },
    bytesKept: rate * bytes * DAY_S * keepRowsDays,
  }));

/**
 * Keys and job ids are random. Each may be the first change of its index page since a checkpoint, and the log then contains the
 * complete page.
 */
const RANDOM_PAGES = 2;
const PAGE_BYTES = 8192;

export const logOf = (costs: Costs, store: StoreName, rate: number, { nodes, commits }: Load) => {
  const bytesPerS = nodes * commits.perS * linearAt(costs.commit.logBytes, commits.batch);
  return { bytesPerS, atMostPerS: bytesPerS + (store === "postgres" ? rate * RANDOM_PAGES * PAGE_BYTES : 0) };
};

export const bucketOf = ({ rate, resultBytes, keepFilesDays }: CapacityRequest) => ({
  bytesPerS: rate * resultBytes,
  bytesPerDay: rate * resultBytes * DAY_S,
  bytesKept: rate * resultBytes * DAY_S * keepFilesDays,
  filesKept: rate * DAY_S * keepFilesDays,
});

export const connectionsOf = (nodes: number, readers: number): number => nodes * (readers + WRITING_CONNECTIONS);
export const nodeMemoryOf = (costs: Costs, { nodes, inFlight }: Load): number =>
  costs.nodeBytes + (inFlight.seldomMore / nodes) * costs.runningBytes;
