// Bench of lists: the time of one page of a large account's list with millions stored, against ten thousand.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Bench, closely, hold } from "./bench.ts";
import { FEW, manyOf } from "./growth.ts";
import { PICTURES } from "./lives.ts";
import { beside, playRounds, type Side } from "./rounds.ts";
import { type Service, startService } from "./service.ts";
import { headOf, IN_LINE } from "./sides.ts";
import { endStocked, giveBackEnded, makeEnded, RARE, RARE_METADATA, type StockedHome, takeEnded } from "./stock.ts";
import { stockLists } from "./stock-lists.ts";

const TARGET = 1.5;
const PAGE = 20;
/** Files and deliveries for each stored generation. */
const BESIDE = 0.1;
/** More connections shorten the warm-up. */
const WARM_CONNECTIONS = 8;

type List = {
  name: string;
  path: string;
  query: string;
  /** Also a page in the middle of the list, or the second one. */
  follows: "middle" | "next" | null;
  isEmpty?: true;
};
const [[METADATA, VALUE] = ["", ""]] = Object.entries(RARE_METADATA);
/** Lists that cost the same for any number of rows, as docs/interface.md states. */
const LISTS: readonly List[] = [
  { name: "generations", path: "/v1/generations", query: "", follows: "middle" },
  { name: "by status", path: "/v1/generations", query: "status=succeeded", follows: "middle" },
  { name: "by another status", path: "/v1/generations", query: "status=failed", follows: null, isEmpty: true },
  { name: "by model", path: "/v1/generations", query: `model=${PICTURES.model}`, follows: "middle" },
  { name: "by another model", path: "/v1/generations", query: `model=${RARE.model}`, follows: "next" },
  { name: "by metadata", path: "/v1/generations", query: `metadata%5B${METADATA}%5D=${VALUE}`, follows: "next" },
  { name: "ledger", path: "/v1/ledger", query: "", follows: "next" },
  { name: "files", path: "/v1/files", query: "", follows: "next" },
  { name: "deliveries", path: "/v1/webhook_deliveries", query: "", follows: "next" },
];

type Page = { object: string; data: unknown[]; next: string | null };
const isPage = (text: string, list?: List): boolean => {
  const { object, data } = JSON.parse(text) as Page;
  return object === "list" && data.length === (list?.isEmpty ? 0 : PAGE);
};

/** A generation in the middle of the account's list. */
const middleOf = ({ dir, tenants }: StockedHome): string => {
  const db = new Database(join(dir, DATABASE_FILE), { readonly: true, strict: true });
  const middle = db
    .query<{ id: string }, [number, string]>(
      `SELECT id FROM generation INDEXED BY generation_model_ended WHERE account_seq = ?1 AND model = ?2 AND completed_at_ms IS NOT NULL
       ORDER BY seq LIMIT 1 OFFSET (SELECT count(*) / 2 FROM generation INDEXED BY generation_model_ended
         WHERE account_seq = ?1 AND model = ?2 AND completed_at_ms IS NOT NULL)`,
    )
    .get(tenants[0]?.accountSeq ?? 0, PICTURES.model);
  db.close();
  if (!middle) throw new Error("the account has no generation in the middle");
  return middle.id;
};

/** The requests of a list. @throws if its first page is not the expected one */
const streamOf = async (list: List, { url }: Service, key: string, middle: string): Promise<Side["streams"][number]> => {
  const first = `${list.path}?limit=${PAGE}${list.query === "" ? "" : `&${list.query}`}`;
  const response = await fetch(`${url}${first}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  if (response.status !== 200 || !isPage(text, list))
    throw new Error(`GET ${first} was answered ${response.status}: ${text.slice(0, 300)}`);
  const { next } = JSON.parse(text) as Page;
  const after = { middle, next: next ?? "" };
  const paths = list.follows === null ? [first] : [first, `${first}&after=${encodeURIComponent(after[list.follows])}`];
  return { heads: paths.map((path) => headOf(`GET ${path}`, key)), isKeyed: false, body: "" };
};

const sideOf = async (name: string, home: StockedHome, service: Service): Promise<Side> => {
  const [middle, key] = [middleOf(home), home.tenants[0]?.key ?? ""];
  const streams: Side["streams"][number][] = [];
  for (const list of LISTS) streams.push(await streamOf(list, service, key, middle));
  return { name, port: service.port, pids: [service.pid], streams };
};

/** Half of all generations are of one account, whose lists are read over one connection. */
export const lists: Bench = {
  name: "lists",
  compares:
    "time of a page of generations, ledger, files and deliveries, of an account with half of all: 10,000,000 stored (1,000,000 in short) / 10,000",
  takesEnded: manyOf,
  run: async (env) => {
    const many = manyOf(env.isShort);
    const homes = { ours: await takeEnded(many, env.report), other: await makeEnded(FEW) };
    for (const [home, count] of [
      [homes.ours, many],
      [homes.other, FEW],
    ] as const) {
      const [tenant] = home.tenants;
      if (tenant) await stockLists(home.dir, tenant, count * BESIDE);
    }
    const services = {
      ours: await startService({ dir: homes.ours.dir, env: IN_LINE }),
      other: await startService({ dir: homes.other.dir, env: IN_LINE }),
    };
    const [stored, few] = [`${many.toLocaleString("en-US")} stored`, `${FEW.toLocaleString("en-US")} stored`];
    const sides = {
      ours: await sideOf(stored, homes.ours, services.ours),
      other: await sideOf(few, homes.other, services.other),
    };
    const plan = { ...closely(env, 3), forMs: env.roundMs, connections: 1, warmConnections: WARM_CONNECTIONS, rate: null };
    const isBody = (body: string, stream: number) => isPage(body, LISTS[stream]);
    const { ours, other } = await playRounds(sides, { ...plan, isBody }, (status) => status === "200");
    for (const service of Object.values(services)) await service.stop();
    giveBackEnded(many, homes.ours);
    await endStocked(homes.other);
    const reported = { unit: "µs p50", sides: `${stored} / ${few}`, target: TARGET, wants: "at most" } as const;
    return LISTS.map(({ name }, at) =>
      hold(
        { name: `lists, ${name}`, ...reported, ...beside({ ours, other }) },
        ours.p50[at] ?? Number.NaN,
        other.p50[at] ?? Number.NaN,
      ),
    );
  },
};
