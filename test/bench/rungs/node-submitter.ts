// Keeps a number of generations in flight at nodes that share a database, as a process with `begin` and `end` on standard input.
import { SQL } from "bun";
import { AT_A_TIME, type OrdersPlan, openOrders } from "./orders.ts";

export type NodeSubmitterPlan = Omit<OrdersPlan, "url"> & {
  urls: readonly string[];
  database: string;
  model: string;
  inFlight: number;
};

/** Queries cost the database time, so they are half as frequent as those of a file. */
const LOOK_MS = 10;

const plan = (await Bun.file(process.argv[2] ?? "").json()) as NodeSubmitterPlan;
const sql = new SQL(plan.database, { max: 1 });
const nodes = plan.urls.map((url) => openOrders({ ...plan, url }));
let turn = 0;
let since = "0";
let isOn = false;

const end = (fault: unknown) => {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
};
const unanswered = (): number => nodes.reduce((sum, orders) => sum + orders.unanswered(), 0);
/** Reads an index of open generations, from the first of this turn on. */
const inFlight = async (): Promise<number> => {
  const [row] = (await sql.unsafe(
    "SELECT count(*) AS count FROM generation WHERE seq > $1 AND completed_at_ms IS NULL AND model = $2",
    [since, plan.model],
  )) as { count: string }[];
  return Number(row?.count);
};

const look = async (): Promise<void> => {
  for (;;) {
    await Bun.sleep(LOOK_MS);
    if (!isOn) continue;
    const open = await inFlight();
    for (let missing = plan.inFlight - open - unanswered(); missing > 0 && isOn && unanswered() < AT_A_TIME; missing -= 1)
      nodes[turn++ % nodes.length]?.submit().catch(end);
  }
};
look().catch(end);

process.stdout.write("ready\n");
for await (const line of console) {
  if (line === "begin") {
    const [row] = (await sql.unsafe("SELECT coalesce(max(seq), 0) AS seq FROM generation")) as { seq: string }[];
    since = String(row?.seq);
    isOn = true;
    continue;
  }
  isOn = false;
  while (unanswered() > 0 || (await inFlight()) > 0) await Bun.sleep(LOOK_MS);
  process.stdout.write("ended\n");
}
