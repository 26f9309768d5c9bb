// Bench of webhook deliveries: how many a service sends in a second, and what one receiver that hangs costs the others.
import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generationSeqAt, newDeliveryToken } from "../../src/domain/ids.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { makeScratch } from "../scratch.ts";
import { type Bench, closely, type Env, hold, type Result, spreadOf } from "./bench.ts";
import { spawnHeard } from "./child.ts";
import { ALLOWS_LOCAL, addEndpoints, type Endpoint } from "./endpoints.ts";
import { onLoadCore, openCpu, WARM_SHARE } from "./machine.ts";
import { AUTHORITY } from "./rungs/certificate.ts";
import type { Tallies } from "./rungs/receiver.ts";
import { IN_LINE, type Stage, withService } from "./sides.ts";

/** Accounts with an endpoint, and their deliveries that wait at the start: more than a service sends during the rounds. */
const ACCOUNTS = 256;
const waitingOf = ({ isShort }: Env): number => (isShort ? 60_000 : 250_000);
const PER_SECOND = 1_000;
/** Deliveries to the receiver that hangs: it occupies as many places as an endpoint may have, all the time. */
const HUNG = 5_000;
/** At this share of its core the receiver is the bottleneck. */
const FULL_SHARE = 0.9;
const WARM_SLICE_MS = 500;
const WARM_SLICES = 2;
/** Two services on one core take turns in bursts, so rounds are long and count as a whole. */
const LONGER = 2;

type Receiver = { pid: number; plainUrl: string; secureUrl: string; silentUrl: string; counts(): Promise<Tallies>; stop(): void };

const startReceiver = async (): Promise<Receiver> => {
  const { pid, hear, stop } = spawnHeard(onLoadCore([process.execPath, join(import.meta.dir, "rungs/receiver.ts")]));
  const [, plain, secure, silent] = (await hear()).split(" ");
  const plainUrl = `http://127.0.0.1:${plain}`;
  return {
    ...{ pid, stop, plainUrl, secureUrl: `https://127.0.0.1:${secure}`, silentUrl: `http://127.0.0.1:${silent}` },
    counts: async () => (await (await fetch(`${plainUrl}/counts`)).json()) as Tallies,
  };
};

const INSERT = `INSERT INTO webhook_delivery
    (seq, token, account_seq, endpoint_seq, type, generation_seq, sequence, created_at_ms, state, due_at_ms, epoch)
  VALUES (?1, ?2, ?3, ?4, 'generation.succeeded', ?5, ?6, ?7, 'pending', ?7, (SELECT max(epoch) FROM writer_epoch))`;

/** Adds deliveries of stored generations to the outbox, for the endpoints in turn. Equal events have different sequences. */
const addDeliveries = (dir: string, endpoints: readonly Endpoint[], count: number): void => {
  const db = new Database(join(dir, DATABASE_FILE), { strict: true });
  const newest = db.prepare<{ seq: number }, [number]>("SELECT max(seq) AS seq FROM generation WHERE account_seq = ?1");
  const generations = endpoints.map(({ accountSeq }) => newest.get(accountSeq)?.seq ?? 0);
  const insert = db.prepare(INSERT);
  const atMs = Date.now();
  const from = (db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM webhook_delivery").get()?.seq ?? 0) + 1;
  db.transaction(() => {
    for (let n = 0; n < count; n += 1) {
      const at = n % endpoints.length;
      const { seq, accountSeq } = endpoints[at] ?? { seq: 0, accountSeq: 0 };
      const sequence = Math.floor(n / endpoints.length) + 1;
      insert.run(
        Math.max(from, generationSeqAt(atMs)) + n,
        newDeliveryToken(),
        accountSeq,
        seq,
        generations[at] ?? 0,
        sequence,
        atMs,
      );
    }
  })();
  db.close();
};

type Sender = Stage & { name: string };
type Sending = { name: string; url: string; count: number; hangsAt?: string };

/** Runs the work while a service sends the deliveries that it found at its start; afterwards compares both ends. */
const withSender = <T>(
  receiver: Receiver,
  { name, url, count, hangsAt }: Sending,
  work: (sender: Sender) => Promise<T>,
): Promise<T> => {
  const authority = join(makeScratch("bench-authority-"), "authority.pem");
  writeFileSync(authority, AUTHORITY);
  // Tries of the receiver that hangs are not awaited at the end.
  const env = { ...IN_LINE, ...ALLOWS_LOCAL, NODE_EXTRA_CA_CERTS: authority, GENROUTER_SERVER__DRAIN_S: "1" };
  return withService(
    { env },
    async (stage) => {
      const done = await work({ ...stage, name });
      await stage.service.stop();
      await requireSame(receiver, stage.dir, name);
      return done;
    },
    "stored",
    async (dir, tenants) => {
      const endpoints = await addEndpoints(dir, tenants.slice(0, ACCOUNTS), `${url}/${name}`);
      addDeliveries(dir, endpoints, count);
      if (hangsAt === undefined) return;
      addDeliveries(dir, await addEndpoints(dir, tenants.slice(ACCOUNTS, ACCOUNTS + 1), hangsAt), HUNG);
    },
  );
};

/** @throws unless the service has recorded each delivery that arrived, and sent none twice */
const requireSame = async (receiver: Receiver, dir: string, name: string): Promise<void> => {
  const { count, again, sample } = (await receiver.counts())[name] ?? { count: 0, again: 0, sample: "{}" };
  const db = new Database(join(dir, DATABASE_FILE), { readonly: true });
  const row = db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM webhook_delivery WHERE state = 'delivered'").get();
  db.close();
  if (again > 0 || row?.rows !== count)
    throw new Error(`${name}: ${count} deliveries arrived, ${again} of them again, and ${row?.rows} are recorded`);
  const { type, data } = JSON.parse(sample) as { type?: string; data?: { status?: string } };
  if (type !== "generation.succeeded" || data?.status !== "succeeded") throw new Error(`${name}: a delivery was ${sample}`);
};

type Rounds = { perSecond: number[]; cpuUs: number[]; share: number[] };

/** Counts the deliveries of each sender in rounds at the same time, after all are warm. */
const playSenders = async (
  receiver: Receiver,
  senders: readonly Sender[],
  { rounds, ms }: { rounds: number; ms: number },
  env: Env,
) => {
  const cpus = senders.map(({ service }) => openCpu(() => [service.pid]));
  const help = openCpu(() => [receiver.pid]);
  const look = async () => ({ tallies: await receiver.counts(), atMono: performance.now() });
  const play = async (forMs: number) => {
    const before = await look();
    for (const read of [...cpus, help]) read();
    await Bun.sleep(forMs);
    const used = cpus.map((read) => read());
    const share = help().all / 1e6 / forMs;
    const after = await look();
    return senders.map(({ name }, at) => {
      const sent = (after.tallies[name]?.count ?? 0) - (before.tallies[name]?.count ?? 0);
      const { all = 0, compiler = 0 } = used[at] ?? {};
      const perSecond = (sent * 1000) / (after.atMono - before.atMono);
      return { name, sent, perSecond, cpuUs: all / 1000 / sent, compiled: compiler / Math.max(1, all), share };
    });
  };
  for (let warm = 0, slices = 0; warm < WARM_SLICES && slices * WARM_SLICE_MS < env.lives.warmAtMostMs; slices += 1)
    warm = (await play(WARM_SLICE_MS)).every(({ compiled }) => compiled < WARM_SHARE) ? warm + 1 : 0;
  const played = senders.map((): Rounds => ({ perSecond: [], cpuUs: [], share: [] }));
  for (let round = 1; round <= rounds; round += 1)
    for (const [at, { name, sent, perSecond, cpuUs, share }] of (await play(ms)).entries()) {
      if (sent === 0) throw new Error(`${name}: nothing arrived in a round; the service may have sent everything before its end`);
      played[at]?.perSecond.push(perSecond);
      played[at]?.cpuUs.push(cpuUs);
      played[at]?.share.push(share);
      env.report(`round ${round} of ${rounds}: ${name} ${perSecond.toFixed(0)} per second, ${cpuUs.toFixed(0)} µs`);
    }
  return played;
};

/** Deliveries of one service, by HTTP or by TLS. */
const alone = (receiver: Receiver, env: Env, by: "http" | "tls"): Promise<Result> => {
  const sending = { name: by, url: by === "http" ? receiver.plainUrl : receiver.secureUrl, count: waitingOf(env) };
  return withSender(receiver, sending, async (sender) => {
    const [played] = await playSenders(receiver, [sender], { rounds: env.rounds, ms: env.roundMs }, env);
    const { perSecond = [], cpuUs = [], share = [] } = played ?? {};
    if (spreadOf(share).median >= FULL_SHARE) throw new Error("the core of the receiver was full, so nothing was measured");
    const name = by === "http" ? "webhooks" : "webhooks, TLS";
    const sides = `deliveries over kept connections, ${by === "http" ? "HTTP" : "TLS"} / the bound`;
    const held = { name, unit: "per second", sides, target: 1, wants: "at least" } as const;
    const more = { cpuUs: { ours: spreadOf(cpuUs).median, other: Number.NaN } };
    return hold({ ...held, ...more, ...(by === "http" ? {} : { isNote: true }) }, spreadOf(perSecond), PER_SECOND);
  });
};

const meanOf = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Two services on the same core at the same time. One of them has an endpoint more, whose receiver never responds. */
const besideHung = (receiver: Receiver, env: Env): Promise<Result> => {
  const { plainUrl, silentUrl } = receiver;
  const count = waitingOf(env);
  return withSender(receiver, { name: "hung", url: plainUrl, count, hangsAt: silentUrl }, (hung) =>
    withSender(receiver, { name: "unhindered", url: plainUrl, count }, async (unhindered) => {
      const plan = { rounds: closely(env).rounds, ms: env.roundMs * LONGER };
      const [ours, other] = (await playSenders(receiver, [hung, unhindered], plan, env)).map(({ perSecond }) =>
        meanOf(perSecond),
      );
      const sides = "another receiver hangs / there is none";
      const held = { name: "webhooks, one hangs", unit: "per second", sides, target: 0.95, wants: "at least" } as const;
      return hold(held, ours ?? Number.NaN, other ?? Number.NaN);
    }),
  );
};

export const webhooks: Bench = {
  name: "webhooks",
  compares:
    "webhook deliveries over kept connections: the service / 1,000 a second; and those of other receivers while one hangs / without it",
  run: async (env) => {
    const receiver = await startReceiver();
    try {
      const judged = [await alone(receiver, env, "http"), await besideHung(receiver, env)];
      return env.isShort ? judged : [...judged, await alone(receiver, env, "tls")];
    } finally {
      receiver.stop();
    }
  },
};
