// Keeps a number of orders in flight at a peer over HTTP, as a process with `begin` and `end` on standard input.
import { AT_A_TIME, type OrdersPlan, openOrders } from "../rungs/orders.ts";

export type PeerSubmitterPlan = OrdersPlan & { inFlight: number };

const LOOK_MS = 5;

const plan = (await Bun.file(process.argv[2] ?? "").json()) as PeerSubmitterPlan;
const orders = openOrders(plan);
let isOn = false;

const end = (fault: unknown) => {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
};
/** The accepted orders without an end, possibly including pending submissions, so that there are never too many. */
const inFlight = async (): Promise<number> => Number(await (await fetch(`${plan.url}/open`)).text());

const look = async (): Promise<void> => {
  for (;;) {
    await Bun.sleep(LOOK_MS);
    if (!isOn) continue;
    const open = await inFlight();
    for (let missing = plan.inFlight - open; missing > 0 && isOn && orders.unanswered() < AT_A_TIME; missing -= 1)
      orders.submit().catch(end);
  }
};
look().catch(end);

process.stdout.write("ready\n");
for await (const line of console) {
  isOn = line === "begin";
  if (isOn) continue;
  while (orders.unanswered() > 0 || (await inFlight()) > 0) await Bun.sleep(LOOK_MS);
  process.stdout.write("ended\n");
}
