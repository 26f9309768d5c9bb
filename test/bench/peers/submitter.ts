// Keeps so many orders in flight at a peer, as a process: submits over HTTP, asks the peer how many are open, told `begin` and `end` on standard input.

export type PeerSubmitterPlan = { url: string; keys: readonly string[]; body: string; inFlight: number };

const LOOK_MS = 5;
/** What a start submits at once: more would be a storm at the door and not a load. */
const AT_A_TIME = 64;

const plan = (await Bun.file(process.argv[2] ?? "").json()) as PeerSubmitterPlan;
const tag = crypto.randomUUID();
let isOn = false;
let sent = 0;
let unanswered = 0;

const end = (fault: unknown) => {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
};
/** Those that are accepted and have not ended; what is being answered may be among them, so that it is never too many. */
const inFlight = async (): Promise<number> => Number(await (await fetch(`${plan.url}/open`)).text());

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

const look = async (): Promise<void> => {
  for (;;) {
    await Bun.sleep(LOOK_MS);
    if (!isOn) continue;
    const open = await inFlight();
    for (let missing = plan.inFlight - open; missing > 0 && isOn && unanswered < AT_A_TIME; missing -= 1) submit().catch(end);
  }
};
look().catch(end);

process.stdout.write("ready\n");
for await (const line of console) {
  isOn = line === "begin";
  if (isOn) continue;
  while (unanswered > 0 || (await inFlight()) > 0) await Bun.sleep(LOOK_MS);
  process.stdout.write("ended\n");
}
