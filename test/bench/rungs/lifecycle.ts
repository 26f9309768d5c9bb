// The bare loop as a process with `begin` and `end` on standard input: a generation's calls, file and commits without logic.
import { join } from "node:path";
import { pathOfFile } from "../../../src/files/local.ts";
import { ownDatabase } from "../../../src/store/sqlite/initialize.ts";
import { DATABASE_FILE, openWriter } from "../../../src/store/sqlite/open.ts";
import { openKeep } from "./keep.ts";
import { beginLife, commonOf, type Payer, requestOf, type Terms } from "./life.ts";
import { openRows } from "./rows.ts";

export type LifecyclePlan = Terms & {
  /** A data directory of the service with accounts. */
  dir: string;
  payers: readonly Payer[];
  inFlight: number;
  /** First and longest pause between polls, ms. Growth and jitter are those of the service on a route that it does not know yet. */
  pollEveryMs: readonly [number, number];
};

const plan = (await Bun.file(process.argv[2] ?? "").json()) as LifecyclePlan;
const keep = await openKeep(join(plan.dir, "files"), (id) => pathOfFile(id, 1));
const path = join(plan.dir, DATABASE_FILE);
const db = openWriter(path);
const epoch = ownDatabase(db, path, "test", Date.now());
const rows = openRows(db, epoch, commonOf(plan));
const begin = db.prepare("BEGIN IMMEDIATE");
const commit = db.prepare("COMMIT");

/**
 * One transaction for all that arrive together; callers continue after it is durable. After a batch of more than `FEW` rows the next
 * one gathers, by the rule and with the numbers of the service's ledger (actors/ledger.ts).
 */
const [FEW, GATHER_TURNS, GATHER_MS, EMPTY_TURNS, GATHERED] = [4, 16, 3, 3, 128];
let waiting: { write: () => void; done: () => void }[] = [];
let isBetweenMany = false;
const flush = () => {
  const batch = waiting;
  waiting = [];
  isBetweenMany = batch.length > FEW;
  begin.run();
  for (const { write } of batch) write();
  commit.run();
  for (const { done } of batch) done();
};
const gather = (endsAtMono = performance.now() + GATHER_MS, turns = 1, emptyTurns = 0) => {
  const before = waiting.length;
  setImmediate(() => {
    const empty = waiting.length === before ? emptyTurns + 1 : 0;
    const isOver = turns >= GATHER_TURNS || empty >= EMPTY_TURNS || performance.now() >= endsAtMono;
    if (isOver || waiting.length >= GATHERED) flush();
    else gather(endsAtMono, turns + 1, empty);
  });
};
const committed = (write: () => void): Promise<void> =>
  new Promise((done) => {
    if (waiting.push({ write, done }) > 1) return;
    if (isBetweenMany) gather();
    else setImmediate(flush);
  });

const KEY = { authorization: "Key bench" };
const ask = async <T>(url: string): Promise<T> => (await (await fetch(url, { headers: KEY })).json()) as T;
type Accepted = { request_id: string; status_url: string; response_url: string; cancel_url: string };
type Announced = { images: { url: string; content_type: string }[] };

const { method, url, headers, body } = requestOf(plan);
const sent = { method, headers: { ...headers, ...KEY }, body: JSON.stringify(body) };
let begun = 0;

/** Four commits (the admission and three transitions), as the service makes for a generation without faults. */
const live = async (): Promise<void> => {
  const payer = plan.payers[begun++ % plan.payers.length];
  if (!payer) throw new Error("the plan has no payer");
  const life = beginLife(rows, plan, payer);
  await committed(life.admitted());
  await committed(life.sent());
  const job = (await (await fetch(url, sent)).json()) as Accepted;
  const urls = { poll: job.status_url, result: job.response_url, cancel: job.cancel_url };
  await committed(life.accepted(job.request_id, urls));
  const [firstMs, longestMs] = plan.pollEveryMs;
  for (let turn = 0; ; turn += 1) {
    await Bun.sleep(Math.max(10, Math.min(longestMs, firstMs * 1.5 ** turn) * (0.85 + 0.3 * Math.random())));
    if ((await ask<{ status: string }>(`${job.status_url}?logs=0`)).status === "COMPLETED") break;
  }
  const [image] = (await ask<Announced>(job.response_url)).images;
  if (!image) throw new Error("no picture was announced");
  // A separate connection, as the service uses for downloads from foreign URLs.
  const answer = await fetch(image.url, { keepalive: false, decompress: false });
  const bytes = await answer.bytes();
  const { width, height } = await new Bun.Image(bytes).metadata();
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  await keep(life.id, bytes);
  const files = [{ n: 1, sha256, bytes: bytes.length, mime: image.content_type, width, height }];
  const output = { kind: "image", files, width, height };
  await committed(life.delivered([{ url: image.url, mime: image.content_type }], output));
};

let isOn = false;
let workers: Promise<void>[] = [];
const work = async (): Promise<void> => {
  try {
    while (isOn) await live();
  } catch (fault) {
    process.stderr.write(`${fault}\n`);
    process.exit(1);
  }
};

process.stdout.write("ready\n");
for await (const line of console) {
  isOn = line === "begin";
  if (isOn) workers = Array.from({ length: plan.inFlight }, work);
  else {
    await Promise.all(workers);
    process.stdout.write("ended\n");
  }
}
