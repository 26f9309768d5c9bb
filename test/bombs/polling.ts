// Polls /healthz and a control server that does nothing from a separate process, to measure the waits of others.

/** Response time, ms; and the time of the request since the start of polling, ms. */
type Wait = { atMs: number; ms: number };
export type Polled = {
  asked: number;
  unanswered: number;
  worstMs: number;
  controlWorstMs: number;
  /** The largest excess of /healthz over the control around the same time. */
  longerMs: number;
};

const EVERY_MS = 40;
/** How long the last requests are awaited. */
const LAST_MS = 10_000;
/** A request without a response after this time counts as unanswered. */
const PATIENCE_MS = 30_000;
/** A stall of the machine does not affect both at exactly the same time. */
const AROUND_MS = 500;

const ask = async (url: string, over: AbortSignal): Promise<boolean> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([over, AbortSignal.timeout(PATIENCE_MS)]) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
};

/** Compares the waits with those of the control. */
export const compare = (waits: readonly Wait[], control: readonly Wait[], unanswered: number): Polled => {
  let longerMs = 0;
  for (const { atMs, ms } of waits) {
    const around = control.filter((one) => one.atMs + one.ms >= atMs - AROUND_MS && one.atMs <= atMs + ms + AROUND_MS);
    longerMs = Math.max(longerMs, ms - Math.max(0, ...around.map((one) => one.ms)));
  }
  const worst = (all: readonly Wait[]) => Math.round(Math.max(0, ...all.map(({ ms }) => ms)));
  return {
    asked: waits.length,
    unanswered,
    worstMs: worst(waits),
    controlWorstMs: worst(control),
    longerMs: Math.round(longerMs),
  };
};

/** Polls until SIGTERM, then prints the result as JSON. */
export const poll = async (urls: readonly string[], controlUrl: string): Promise<void> => {
  const [waits, control]: [Wait[], Wait[]] = [[], []];
  let unanswered = 0;
  let isOver = false;
  const over = new AbortController();
  const begunMs = performance.now();
  const one = async (url: string, into: Wait[], counts: boolean) => {
    const atMs = performance.now() - begunMs;
    const isAnswered = await ask(url, over.signal);
    if (!isAnswered && counts) unanswered += 1;
    into.push({ atMs, ms: performance.now() - begunMs - atMs });
  };
  const loop = async (url: string, into: Wait[], counts: boolean) => {
    while (!isOver) {
      await one(url, into, counts);
      await Bun.sleep(EVERY_MS);
    }
  };
  const loops = [...urls.map((url) => loop(`${url}/healthz`, waits, true)), loop(controlUrl, control, false)];
  process.stdout.write("polling\n");
  await new Promise<void>((reported) => process.once("SIGTERM", () => reported()));
  isOver = true;
  setTimeout(() => over.abort(), LAST_MS);
  await Promise.all(loops);
  process.stdout.write(`polled ${JSON.stringify(compare(waits, control, unanswered))}\n`);
  process.exit(0);
};

/** Serves a constant response. */
export const serveControl = (): void => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  process.stdout.write(`control at http://127.0.0.1:${server.port}\n`);
};
