// Formats the answer of the capacity calculator as text and JSON.
import { table } from "../terminal.ts";
import type { Advice, Answer, Why } from "./answer.ts";
import { JUDGED } from "./answer.ts";

/** Three significant digits, because the measurements are not more precise. */
export const number = (value: number): string => {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: digits });
};
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;
export const bytes = (value: number): string => {
  const at = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  return `${number(value / 1000 ** at)} ${UNITS[at]}`;
};
const percent = (share: number): string => `${number(share * 100)} %`;

const LACKS: Record<Why, string> = {
  thread: "a thread would exceed the planned utilization",
  writer: "the writer would exceed the planned utilization",
  bytes: `the file would grow beyond ${bytes(JUDGED.sqliteBytes)}`,
};
export const ADVICE: Record<Advice, string> = {
  partition: `partition generation, attempt, generation_event and transfer by time: a table grows beyond ${bytes(JUDGED.partitionBytes)}`,
  archive: `archive settled rows: the database grows beyond ${bytes(JUDGED.archiveBytes)}`,
  shard: `shard by account (Citus) or spread the database: one primary needs more than ${JUDGED.primaryCores} cores, or writes more than ${bytes(JUDGED.logBytesPerS)} of log a second`,
  slots: "64 nodes over one database are not enough: split the accounts over several services",
};
const PARTS = { node: "the threads of the nodes", writer: "the writers", database: "the database" } as const;

const partsOf = (answer: Answer): [part: string, value: string, why: string][] => {
  const { request, store, load, database, log, bucket, ends } = answer;
  const { commits, nodes, inFlight } = load;
  const shared: [string, string, string][] = [
    ["database", `${number(load.databaseCores)} cores in use`, `${answer.databaseCoresPlanned} planned`],
    ["connections", number(answer.connections), `${number(answer.connections / nodes)} for each node`],
  ];
  return [
    ["in flight", `${number(inFlight.mean)} on average`, `${number(inFlight.seldomMore)} exceeded 0.1 % of the time`],
    [
      "nodes",
      number(nodes),
      `${percent(load.busiestThread)} of the busiest thread of each, ${number(load.nodeCores)} cores in all`,
    ],
    [
      "running at most",
      `${number(answer.maxRunningPerNode)} a node`,
      `limits.max_running; ${number(answer.maxRunningPerRoute)} on each route (limits.max_running_per_route)`,
    ],
    ["memory", `${bytes(answer.memoryBytes)} a node`, `${number(inFlight.seldomMore / nodes)} running`],
    ...(store === "postgres" ? shared : []),
    [
      "transactions",
      `${number(nodes * commits.perS)}/s`,
      `${number(commits.batch)} mutations each, ${number(commits.takesMs)} ms, writers busy ${percent(commits.busy)}`,
    ],
    ["rows", `${number(database.rowsPerS)}/s`, `${number(database.rowsPerDay)} a day`],
    ["tables", `${bytes(database.bytesPerDay)} a day`, `${bytes(database.bytesKept)} in ${number(request.keepRowsDays)} days`],
    [
      store === "postgres" ? "WAL" : "log",
      `${bytes(log.bytesPerS)}/s`,
      store === "postgres" ? `at most ${bytes(log.atMostPerS)}/s, with full pages after a checkpoint` : "rewritten repeatedly",
    ],
    [
      "files",
      `${bytes(bucket.bytesPerDay)} a day`,
      `${bytes(bucket.bytesKept)} in ${number(request.keepFilesDays)} days; ${bytes(bucket.bytesPerS)}/s in`,
    ],
    ["full at", `${number(ends[0]?.rate ?? 0)}/s`, ends.map(({ part, rate }) => `${PARTS[part]} ${number(rate)}`).join(", ")],
  ];
};

export const linesOf = (answer: Answer): string[] => {
  const { request, store, sqliteLacks, tables, advice } = answer;
  const verdict =
    store === "sqlite"
      ? sqliteLacks.length === 0
        ? "one machine with SQLite is enough"
        : `one machine with SQLite is not enough: ${sqliteLacks.map((why) => LACKS[why]).join("; ")}`
      : `PostgreSQL with ${answer.load.nodes} node${answer.load.nodes === 1 ? "" : "s"}${sqliteLacks.length === 0 ? " (one machine with SQLite would be enough)" : `; with SQLite ${sqliteLacks.map((why) => LACKS[why]).join("; ")}`}`;
  return [
    `${number(request.rate)} generations/s, ${number(request.runS)} s each, ${number(request.polls)} polls each: ${verdict}`,
    "",
    ...table(["PART", "NEEDED", ""], partsOf(answer)),
    "",
    ...table(
      ["TABLE", "ROWS A DAY", "BYTES A DAY", "KEPT"],
      tables.map((one) => [one.table, number(one.rowsPerDay), bytes(one.bytesPerDay), bytes(one.bytesKept)]),
      [1, 2, 3],
    ),
    ...advice.map((one) => `→ ${ADVICE[one]}`),
  ];
};

const rounded = (value: number): number => Number(value.toPrecision(4));

export const jsonOf = (answer: Answer) => {
  const { request, store, load, log, bucket, database, ends, advice, tables } = answer;
  const maxRunning = { per_node: answer.maxRunningPerNode, per_route: answer.maxRunningPerRoute };
  return {
    ...{
      rate: request.rate,
      run_s: request.runS,
      polls: request.polls,
      store,
      sqlite_lacks: answer.sqliteLacks,
      nodes: load.nodes,
    },
    in_flight: { mean: rounded(load.inFlight.mean), seldom_more: load.inFlight.seldomMore },
    max_running: maxRunning,
    // The former name, for scripts that read it.
    seats: maxRunning,
    cores: {
      nodes: rounded(load.nodeCores),
      busiest_thread: rounded(load.busiestThread),
      database: rounded(load.databaseCores),
      database_planned: store === "postgres" ? answer.databaseCoresPlanned : 0,
    },
    transactions: {
      per_s: rounded(load.nodes * load.commits.perS),
      mutations_each: rounded(load.commits.batch),
      // The member's name in builds before the first release.
      deeds_each: rounded(load.commits.batch),
      ms: rounded(load.commits.takesMs),
      busy: rounded(load.commits.busy),
    },
    ...{ connections: answer.connections, memory_bytes_per_node: Math.round(answer.memoryBytes) },
    log: { bytes_per_s: Math.round(log.bytesPerS), at_most_bytes_per_s: Math.round(log.atMostPerS) },
    database: {
      rows_per_s: rounded(database.rowsPerS),
      bytes_per_day: Math.round(database.bytesPerDay),
      bytes_kept: Math.round(database.bytesKept),
      tables: tables.map((one) => ({
        table: one.table,
        rows_per_day: Math.round(one.rowsPerDay),
        bytes_per_day: Math.round(one.bytesPerDay),
        bytes_kept: Math.round(one.bytesKept),
      })),
    },
    files: {
      bytes_per_s: Math.round(bucket.bytesPerS),
      bytes_per_day: Math.round(bucket.bytesPerDay),
      bytes_kept: Math.round(bucket.bytesKept),
      kept: Math.round(bucket.filesKept),
    },
    full_at: ends.map(({ part, rate }) => ({ part, rate: rounded(rate) })),
    advice,
  };
};
