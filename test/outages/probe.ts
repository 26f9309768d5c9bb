// Polls /healthz and /readyz of one node, as a load balancer does, and records every change of the status.

/** A response with another status than the previous one. `status` is null if there was no response. */
export type Turn = { atMs: number; status: number | null };
export type Probe = {
  isReady(): boolean;
  health: readonly Turn[];
  readiness: readonly Turn[];
  /** The longest response time of /healthz. */
  slowestMs(): number;
  stop(): Promise<void>;
};

const EVERY_MS = 150;
const PATIENCE_MS = 5000;

const look = async (url: string): Promise<number | null> => {
  try {
    // A new connection, because an open one could belong to an earlier process.
    const answer = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(PATIENCE_MS) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return null;
  }
};

export const openProbe = (url: string): Probe => {
  const [health, readiness]: [Turn[], Turn[]] = [[], []];
  let slowestMs = 0;
  let isOver = false;
  const note = (turns: Turn[], atMs: number, status: number | null) => {
    if (turns.at(-1)?.status !== status) turns.push({ atMs, status });
  };
  const watch = async (path: string, turns: Turn[]): Promise<void> => {
    while (!isOver) {
      const atMs = Date.now();
      const status = await look(`${url}${path}`);
      if (turns === health && status !== null) slowestMs = Math.max(slowestMs, Date.now() - atMs);
      note(turns, atMs, status);
      await Bun.sleep(EVERY_MS);
    }
  };
  const watching = Promise.all([watch("/healthz", health), watch("/readyz", readiness)]);
  return {
    ...{ health, readiness },
    isReady: () => readiness.at(-1)?.status === 200,
    slowestMs: () => slowestMs,
    stop: async () => {
      isOver = true;
      await watching;
    },
  };
};

/** The spans between two times in which the status was not `status`. An open span ends at `toMs`. */
export const spansWithout = (
  turns: readonly Turn[],
  status: number,
  fromMs: number,
  toMs: number,
): { fromMs: number; toMs: number }[] =>
  turns.flatMap((turn, index) => {
    const span = { fromMs: Math.max(turn.atMs, fromMs), toMs: Math.min(turns[index + 1]?.atMs ?? toMs, toMs) };
    return turn.status !== status && span.fromMs < span.toMs ? [span] : [];
  });
