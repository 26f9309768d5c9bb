// Keeps so many generations in flight at a service, as a process: submits over HTTP, looks into the database, told `begin` and `end` on standard input.
import { Database } from "bun:sqlite";

export type SubmitterPlan = {
  url: string;
  keys: readonly string[];
  /** Read only, so that counting costs the service nothing. */
  database: string;
  model: string;
  body: string;
  inFlight: number;
};

const LOOK_MS = 5;
/** What a start submits at once: more would be a storm at the door and not a load. */
const AT_A_TIME = 64;

const plan = (await Bun.file(process.argv[2] ?? "").json()) as SubmitterPlan;
const db = new Database(plan.database, { readonly: true, strict: true });
db.run("PRAGMA busy_timeout = 5000");
// Reads an index of those that have not ended, which is as small as they are few.
const open = db.prepare<{ count: number }, [string]>(
  "SELECT count(*) AS count FROM generation WHERE completed_at_ms IS NULL AND model = ?1",
);
const inFlight = (): number => open.get(plan.model)?.count ?? 0;
const tag = crypto.randomUUID();
let isOn = false;
let sent = 0;
let unanswered = 0;

const submit = async (): Promise<void> => {
  const n = sent++;
  unanswered += 1;
  const response = await fetch(`${plan.url}/v1/generations`, {
    ...{ method: "POST", body: plan.body },
    headers: {
      authorization: `Bearer ${plan.keys[n % plan.keys.length]}`,
      "content-type": "application/json",
      "idempotency-key": `${tag}-${n}`,
    },
  });
  const text = await response.text();
  if (response.status !== 202) throw new Error(`a submission was answered ${response.status}: ${text.slice(0, 300)}`);
  unanswered -= 1;
};

const look = (): void => {
  if (!isOn) return;
  for (let missing = plan.inFlight - inFlight() - unanswered; missing > 0 && unanswered < AT_A_TIME; missing -= 1)
    submit().catch((fault: unknown) => {
      process.stderr.write(`${fault}\n`);
      process.exit(1);
    });
};
setInterval(look, LOOK_MS);

process.stdout.write("ready\n");
for await (const line of console) {
  isOn = line === "begin";
  if (isOn) continue;
  while (unanswered > 0 || inFlight() > 0) await Bun.sleep(LOOK_MS);
  process.stdout.write("ended\n");
}
