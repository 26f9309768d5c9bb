// The bare loop, as a process: the upstream calls, picture, file and commits of a generation with no logic around them; told `begin` and `end` on standard input.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { openKeep } from "./keep.ts";

export type LifecyclePlan = {
  dir: string;
  database: string;
  /** Base URL of a provider that speaks fal's queue. */
  base: string;
  endpoint: string;
  model: string;
  input: object;
  inFlight: number;
  /** First and longest pause between polls, ms, and how much they grow and spread: the service's own. */
  pollEveryMs: readonly [number, number];
  accounts: number;
  /** Generations that have ended before anything begins. */
  stored: number;
};

const plan = (await Bun.file(process.argv[2] ?? "").json()) as LifecyclePlan;
const keep = await openKeep(join(plan.dir, "files"));

const db = new Database(plan.database, { create: true, strict: true });
// As the service opens its own.
db.run("PRAGMA journal_mode = WAL");
db.run("PRAGMA synchronous = FULL");
db.run("PRAGMA cache_size = -8192");
db.run("PRAGMA wal_autocheckpoint = 8000");
db.run("CREATE TABLE account (seq INTEGER PRIMARY KEY, held INTEGER NOT NULL, charged INTEGER NOT NULL)");
db.run(
  "CREATE TABLE generation (seq INTEGER PRIMARY KEY, account INTEGER NOT NULL, id TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL, input TEXT NOT NULL, plan TEXT NOT NULL, credits INTEGER NOT NULL, output TEXT, created_at_ms INTEGER NOT NULL, completed_at_ms INTEGER)",
);
db.run(
  "CREATE TABLE step (seq INTEGER NOT NULL, version INTEGER NOT NULL, at_ms INTEGER NOT NULL, fact TEXT NOT NULL, PRIMARY KEY (seq, version)) WITHOUT ROWID",
);
const addAccount = db.prepare("INSERT INTO account VALUES (?1, 0, 0)");
db.transaction(() => {
  for (let account = 0; account < plan.accounts; account += 1) addAccount.run(account);
})();
const begin = db.prepare("BEGIN IMMEDIATE");
const commit = db.prepare("COMMIT");
const admit = db.prepare("INSERT INTO generation VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, NULL, ?8, NULL)");
const hold = db.prepare("UPDATE account SET held = held + ?2 WHERE seq = ?1");
const step = db.prepare("INSERT INTO step VALUES (?1, ?2, ?3, ?4)");
const end = db.prepare("UPDATE generation SET status = 'succeeded', output = ?2, completed_at_ms = ?3 WHERE seq = ?1");
const charge = db.prepare("UPDATE account SET held = held - ?2, charged = charged + ?2 WHERE seq = ?1");

/** One transaction for all that arrive in a turn of the event loop; nobody goes on before it is durable. */
let waiting: { write: () => void; done: () => void }[] = [];
const flush = () => {
  const batch = waiting;
  waiting = [];
  begin.run();
  for (const { write } of batch) write();
  commit.run();
  for (const { done } of batch) done();
};
const committed = (write: () => void): Promise<void> =>
  new Promise((done) => {
    if (waiting.push({ write, done }) === 1) setImmediate(flush);
  });

const KEY = { authorization: "Key bench" };
const ask = async <T>(url: string): Promise<T> => (await (await fetch(url, { headers: KEY })).json()) as T;
type Job = { request_id: string; status_url: string; response_url: string };

/** Bytes that a step of the service writes besides what is told here: how to continue, and the columns of its attempt or of its money. */
const MEMORY = "x".repeat(500);
/** The same for an admission: keys, hashes, the hold. */
const TERMS = "x".repeat(300);
const CREDITS = 6;
const PLAN = JSON.stringify([{ routeId: `${plan.model}/fal`, priceCredits: CREDITS, timeoutMs: 2_400_000, terms: TERMS }]);
const STEPS = ["begun", "sending", "accepted", "announced", "collected"];
db.transaction(() => {
  const fact = JSON.stringify({ memory: MEMORY, request: plan.input });
  const atMs = Date.now() - 86_400_000;
  for (let seq = 1; seq <= plan.stored; seq += 1) {
    admit.run(seq, seq % plan.accounts, `gen_${seq}`, "stored", JSON.stringify(plan.input), PLAN, CREDITS, atMs);
    for (const at of STEPS.keys()) step.run(seq, at + 1, atMs, fact);
    end.run(seq, "{}", atMs);
  }
})();
let last = plan.stored;

/** Six commits (one to admit it, five steps), as many as the service makes of a generation that nothing goes wrong with. */
const live = async (): Promise<void> => {
  const seq = ++last;
  const account = seq % plan.accounts;
  const id = `gen_${seq.toString(36).padStart(20, "0")}`;
  const input = JSON.stringify(plan.input);
  let version = 0;
  const note = (fact: object, more = () => {}) => {
    const text = JSON.stringify({ ...fact, n: 1, memory: MEMORY });
    version += 1;
    return committed(() => {
      step.run(seq, version, Date.now(), text);
      more();
    });
  };

  await committed(() => {
    admit.run(seq, account, id, plan.model, input, PLAN, CREDITS, Date.now());
    hold.run(account, CREDITS);
  });
  await note({ type: "begun", ref: `${id}-1`, route: plan.endpoint });
  const url = `${plan.base}/${plan.endpoint}`;
  const headers = { "content-type": "application/json", "x-fal-no-retry": "1", "x-fal-request-timeout": "900" };
  await note({ type: "sending", request: JSON.stringify({ method: "POST", url, headers, body: plan.input }) });
  const job = (await (await fetch(url, { method: "POST", headers: { ...headers, ...KEY }, body: input })).json()) as Job;
  await note({ type: "accepted", job });
  const [firstMs, longestMs] = plan.pollEveryMs;
  for (let turn = 0; ; turn += 1) {
    await Bun.sleep(Math.max(10, Math.min(longestMs, firstMs * 1.5 ** turn) * (0.85 + 0.3 * Math.random())));
    if ((await ask<{ status: string }>(`${job.status_url}?logs=0`)).status === "COMPLETED") break;
  }
  const { images } = await ask<{ images: { url: string }[] }>(job.response_url);
  await note({ type: "announced", images });
  // A connection of its own, as the service fetches what somebody else's address leads to.
  const answer = await fetch(images[0]?.url ?? "", { keepalive: false, decompress: false });
  const bytes = await answer.bytes();
  const { width, height } = await new Bun.Image(bytes).metadata();
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  await keep(id, bytes);
  const output = JSON.stringify({
    kind: "image",
    files: [{ n: 1, sha256, bytes: bytes.length, mime: "image/jpeg" }],
    width,
    height,
  });
  await note({ type: "collected" }, () => {
    end.run(seq, output, Date.now());
    charge.run(account, CREDITS);
  });
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
