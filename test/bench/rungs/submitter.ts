// Keeps a number of generations in flight at a service, as a process with `begin` and `end` on standard input.
import { Database } from "bun:sqlite";
import { AT_A_TIME, type OrdersPlan, openOrders } from "./orders.ts";

export type SubmitterPlan = OrdersPlan & {
  /** Read-only, so that counting costs the service nothing. */
  database: string;
  model: string;
  inFlight: number;
};

const LOOK_MS = 5;

const plan = (await Bun.file(process.argv[2] ?? "").json()) as SubmitterPlan;
const db = new Database(plan.database, { readonly: true, strict: true });
db.run("PRAGMA busy_timeout = 5000");
const newest = db.prepare<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation");
// Reads an index of open generations, from the first of this turn on, and ignores older ones.
const open = db.prepare<{ count: number }, [number, string]>(
  "SELECT count(*) AS count FROM generation WHERE seq > ?1 AND completed_at_ms IS NULL AND model = ?2",
);
let since = 0;
const inFlight = (): number => open.get(since, plan.model)?.count ?? 0;
const orders = openOrders(plan);
let isOn = false;

const look = (): void => {
  if (!isOn) return;
  for (
    let missing = plan.inFlight - inFlight() - orders.unanswered();
    missing > 0 && orders.unanswered() < AT_A_TIME;
    missing -= 1
  )
    orders.submit().catch((fault: unknown) => {
      process.stderr.write(`${fault}\n`);
      process.exit(1);
    });
};
setInterval(look, LOOK_MS);

process.stdout.write("ready\n");
for await (const line of console) {
  isOn = line === "begin";
  if (isOn) {
    since = newest.get()?.seq ?? 0;
    continue;
  }
  while (orders.unanswered() > 0 || inFlight() > 0) await Bun.sleep(LOOK_MS);
  process.stdout.write("ended\n");
}
