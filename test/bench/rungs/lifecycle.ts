// The bare loop, as a process: the upstream calls, picture, file and commits of a generation with no logic around them; told `begin` and `end` on standard input.
import { join } from "node:path";
import type { DeedOutcome } from "../../../src/deeds.ts";
import { placeOf } from "../../../src/files/local.ts";
import { openBatch } from "../../../src/store/sqlite/batch.ts";
import { ownDatabase } from "../../../src/store/sqlite/birth.ts";
import { DATABASE_FILE, openWriter } from "../../../src/store/sqlite/open.ts";
import type { PackedDeed } from "../../../src/store/sqlite/pack.ts";
import { openDeeds, type Payer, type Terms } from "./deeds.ts";
import { openKeep } from "./keep.ts";

export type LifecyclePlan = Terms & {
  /** A data directory with accounts, as the service has one. */
  dir: string;
  payers: readonly Payer[];
  inFlight: number;
  /** First and longest pause between polls, ms, and how much they grow and spread: the service's own. */
  pollEveryMs: readonly [number, number];
};

const plan = (await Bun.file(process.argv[2] ?? "").json()) as LifecyclePlan;
const keep = await openKeep(join(plan.dir, "files"), (id) => placeOf(id, 1));
const path = join(plan.dir, DATABASE_FILE);
const db = openWriter(path);
const write = openBatch(db, ownDatabase(db, path, "test", Date.now()));
const deeds = openDeeds(plan);

/** One transaction for all that arrive in a turn of the event loop; nobody goes on before it is durable. */
let waiting: { deed: PackedDeed; done: (outcome: DeedOutcome | undefined) => void }[] = [];
const flush = () => {
  const batch = waiting;
  waiting = [];
  const outcomes = write(batch.map(({ deed }) => deed));
  for (const [at, { done }] of batch.entries()) done(outcomes[at]);
};
const committed = async (deed: PackedDeed): Promise<void> => {
  const outcome = await new Promise<DeedOutcome | undefined>((done) => {
    if (waiting.push({ deed, done }) === 1) setImmediate(flush);
  });
  if (outcome?.kind !== "admitted" && outcome?.kind !== "stepped") throw new Error(`not written: ${JSON.stringify(outcome)}`);
};

const KEY = { authorization: "Key bench" };
const ask = async <T>(url: string): Promise<T> => (await (await fetch(url, { headers: KEY })).json()) as T;
type Accepted = { request_id: string; status_url: string; response_url: string; cancel_url: string };
type Announced = { images: { url: string; content_type: string }[] };

const { method, url, headers, body } = deeds.request;
const sent = { method, headers: { ...headers, ...KEY }, body: JSON.stringify(body) };
let begun = 0;

/** Six commits (one to admit it, five steps), those that the service makes of a generation that nothing goes wrong with. */
const live = async (): Promise<void> => {
  const payer = plan.payers[begun++ % plan.payers.length];
  if (!payer) throw new Error("nobody pays");
  const life = deeds.begin(payer);
  await committed(life.admitted);
  await committed(life.begun());
  await committed(life.sending());
  const job = (await (await fetch(url, sent)).json()) as Accepted;
  const urls = { poll: job.status_url, result: job.response_url, cancel: job.cancel_url };
  await committed(life.accepted({ jobId: job.request_id, urls }));
  const [firstMs, longestMs] = plan.pollEveryMs;
  for (let turn = 0; ; turn += 1) {
    await Bun.sleep(Math.max(10, Math.min(longestMs, firstMs * 1.5 ** turn) * (0.85 + 0.3 * Math.random())));
    if ((await ask<{ status: string }>(`${job.status_url}?logs=0`)).status === "COMPLETED") break;
  }
  const [image] = (await ask<Announced>(job.response_url)).images;
  if (!image) throw new Error("no picture was announced");
  await committed(life.announced([{ url: image.url, mime: image.content_type }]));
  // A connection of its own, as the service fetches what somebody else's address leads to.
  const answer = await fetch(image.url, { keepalive: false, decompress: false });
  const bytes = await answer.bytes();
  const { width, height } = await new Bun.Image(bytes).metadata();
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  await keep(life.id, bytes);
  const files = [{ n: 1, sha256, bytes: bytes.length, mime: image.content_type }];
  await committed(life.collected({ kind: "image", files, width, height }));
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
