// Tables of docs/GROWTH.md: measured costs of a generation, and the requirements of 1 to 1,000 generations per second.
import { answerTo, JUDGED } from "../../src/cli/capacity/answer.ts";
import { type Costs, costsOf, linearAt, MEASURED } from "../../src/cli/capacity/costs.ts";
import { bytes, number } from "../../src/cli/capacity/lines.ts";
import type { StoreName } from "../../src/cli/capacity/measured.ts";
import type { CapacityRequest } from "../../src/cli/capacity/plan.ts";

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, at) => (at === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
const STORES: readonly StoreName[] = ["sqlite", "postgres"];
const NAMES: Record<StoreName, string> = { sqlite: "SQLite", postgres: "PostgreSQL" };
const both = (report: (costs: Costs, name: StoreName) => string): string[] =>
  STORES.map((name) => report(costsOf(MEASURED, name), name));
const ms = (value: number): string => (value === 0 ? "—" : value < 0.1 ? `${number(value * 1000)} µs` : `${number(value)} ms`);

export const growthWhen = (): string =>
  `${MEASURED.at.slice(0, 10)}, ${MEASURED.machine}, commit ${MEASURED.commit}; a sync takes ${number(MEASURED.syncMs)} ms there.`;

/** Rows and bytes of one generation in each table. */
export const growthTables = (): string => {
  const [sqlite, postgres] = STORES.map((name) => costsOf(MEASURED, name).tables);
  const names = [...new Set([...(postgres ?? []), ...(sqlite ?? [])].map((one) => one.table))];
  const cell = (tables: Costs["tables"] | undefined, name: string): string[] => {
    const found = tables?.find((one) => one.table === name);
    return found ? [number(found.rows), number(found.bytes), number(found.indexBytes)] : ["—", "—", "—"];
  };
  const total = (tables: Costs["tables"] | undefined): string[] =>
    (["rows", "bytes", "indexBytes"] as const).map((what) => number((tables ?? []).reduce((sum, one) => sum + one[what], 0)));
  return table(
    ["table", "SQLite: rows", "bytes", "of these indexes", "PostgreSQL: rows", "bytes", "of these indexes"],
    [
      ...names.map((name) => [`\`${name}\``, ...cell(sqlite, name), ...cell(postgres, name)]),
      ["together", ...total(sqlite), ...total(postgres)],
    ],
  );
};

const COMMITS = [1, 10, 100] as const;
/** Mutations, transactions, log bytes and processor time of one generation. */
export const growthCosts = (): string => {
  const perLife = (name: "nodeMs" | "databaseMs" | "logBytes", size: number, show: (value: number) => string) =>
    both(({ commit, mutations }) => {
      const value = (mutations * linearAt(commit[name], size)) / size;
      return value === 0 ? "—" : show(value);
    });
  const rows: string[][] = [
    ["mutations: admission, sending, acceptance, delivery", ...both(({ mutations }) => number(mutations))],
    ["node, the life itself", ...both(({ lifeMs }) => ms(lifeMs))],
    ["database, reads beside commits", ...both(({ readsMs }) => ms(readsMs))],
    ["node, one look at its provider", ...both(({ lookMs }) => ms(lookMs))],
    ["node, one poll by its client", ...both(({ pollMs }) => ms(pollMs))],
    [
      "node, database: one poll at another node",
      "—",
      `${ms(costsOf(MEASURED, "postgres").pollElsewhere.nodeMs)}, ${ms(costsOf(MEASURED, "postgres").pollElsewhere.databaseMs)}`,
    ],
    ...COMMITS.flatMap((size) => [
      [`transactions, ${size} mutation${size === 1 ? "" : "s"} in each`, ...both(({ mutations }) => number(mutations / size))],
      ["— node's processor for its commits", ...perLife("nodeMs", size, ms)],
      ["— database's processor", ...perLife("databaseMs", size, ms)],
      ["— log", ...perLife("logBytes", size, bytes)],
    ]),
    ["node's memory while it runs", ...both(({ runningBytes }) => bytes(runningBytes))],
    ["a node's memory after some thousand", ...both(({ nodeBytes }) => bytes(nodeBytes))],
  ];
  return table(["of one generation", "SQLite", "PostgreSQL"], rows);
};

/** Compares the database cost that follows from the cost of commits with the measured cost of whole generations. */
export const growthCheck = (): string => {
  const costs = costsOf(MEASURED, "postgres");
  const rows = MEASURED.stores.postgres.lives.map((one) => {
    const said =
      one.transactions * costs.commit.databaseMs.each +
      one.mutations * costs.commit.databaseMs.mutation +
      one.generations * costs.readsMs;
    const log = one.transactions * costs.commit.logBytes.each + one.mutations * costs.commit.logBytes.mutation;
    const each = (value: number) => value / one.generations;
    return [
      `${number(one.generations)} with ${number(one.polls)} looks, ${number(one.mutations / one.transactions)} mutations a transaction`,
      ms(each(said)),
      ms(each(one.databaseCpuMs)),
      bytes(each(log)),
      bytes(each(one.logBytes)),
    ];
  });
  return table(["lives", "database said", "database measured", "log said", "log measured"], rows);
};

const RATES = [1, 10, 100, 1000] as const;
export const GROWTH_ASK: Omit<CapacityRequest, "rate"> = {
  ...{ runS: 60, polls: 20, resultBytes: 2e6, keepFilesDays: 7, keepRowsDays: 365, routes: 1, nodes: null, full: 0.6 },
  ...{ syncMs: MEASURED.syncMs, roundTripMs: 0.5 },
};
const LACKS = { thread: "its own thread", writer: "its writer", bytes: `a file above ${bytes(JUDGED.sqliteBytes)}` };
const PARTS = { node: "nodes' threads", writer: "writers", database: "database" };

/** Requirements of each rate. */
export const growthRates = (): string => {
  const answers = RATES.map((rate) => answerTo({ ...GROWTH_ASK, rate }, null, 8));
  const shared = RATES.map((rate) => answerTo({ ...GROWTH_ASK, rate }, "postgres", 8));
  const row = (what: string, report: (answer: (typeof answers)[number]) => string, from = answers): string[] => [
    what,
    ...from.map(report),
  ];
  return table(
    ["generations a second", ...RATES.map((rate) => number(rate))],
    [
      row("store", ({ store }) => NAMES[store]),
      row(
        "what one machine with SQLite lacks",
        ({ sqliteLacks }) => sqliteLacks.map((why) => LACKS[why]).join(", ") || "nothing",
      ),
      row("in flight, seldom more than", ({ load }) => number(load.inFlight.seldomMore)),
      row("running on a route, where there is one", ({ maxRunningPerRoute }) => number(maxRunningPerRoute)),
      row("rows a second", ({ database }) => number(database.rowsPerS)),
      row("database a day", ({ database }) => bytes(database.bytesPerDay)),
      row("database after a year", ({ database }) => bytes(database.bytesKept)),
      row("files a day, 2 MB each", ({ bucket }) => bytes(bucket.bytesPerDay)),
      row("files kept, a week", ({ bucket }) => bytes(bucket.bytesKept)),
      row("**over PostgreSQL:** nodes", ({ load }) => number(load.nodes), shared),
      row("cores of all nodes", ({ load }) => number(load.nodeCores), shared),
      row("cores of the database in use", ({ load }) => number(load.databaseCores), shared),
      row("connections", ({ connections }) => number(connections), shared),
      row("transactions a second", ({ load }) => number(load.nodes * load.commits.perS), shared),
      row("mutations in each", ({ load }) => number(load.commits.batch), shared),
      row("one takes", ({ load }) => ms(load.commits.takesMs), shared),
      row("WAL a second", ({ log }) => bytes(log.bytesPerS), shared),
      row("at most, pages whole", ({ log }) => bytes(log.atMostPerS), shared),
      row("memory of a node", ({ memoryBytes }) => bytes(memoryBytes), shared),
      row("full at, of these nodes and cores", ({ ends }) => `${number(ends[0]?.rate ?? 0)}/s`, shared),
      row("by", ({ ends }) => PARTS[ends[0]?.part ?? "node"], shared),
      row("then", ({ advice }) => advice.join(", ") || "—"),
    ],
  );
};
