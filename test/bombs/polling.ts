// Whether others are answered, asked by a process of its own: /healthz beside a server that does nothing, at the same moments.

/** ms from the asking to the whole answer, and when it was asked, ms since the polling began. */
type Wait = { atMs: number; ms: number };
export type Polled = {
  asked: number;
  unanswered: number;
  worstMs: number;
  controlWorstMs: number;
  /** The most that /healthz took longer than the control around the same time. */
  longerMs: number;
};

const EVERY_MS = 40;
/** What was asked last is waited for so long. */
const LAST_MS = 10_000;
/** Who is not answered by then is not answered. */
const PATIENCE_MS = 30_000;
/** A machine that stands still does not do so for both in the same ms. */
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

/** What the waits come to. */
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

/** Polls until it is told to end (SIGTERM), and then says what it came to, as JSON. */
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
  await new Promise<void>((told) => process.once("SIGTERM", () => told()));
  isOver = true;
  setTimeout(() => over.abort(), LAST_MS);
  await Promise.all(loops);
  process.stdout.write(`polled ${JSON.stringify(compare(waits, control, unanswered))}\n`);
  process.exit(0);
};

/** A server that does nothing but answer. */
export const serveControl = (): void => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  process.stdout.write(`control at http://127.0.0.1:${server.port}\n`);
};
