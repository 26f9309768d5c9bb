// Polls a generation until it has ended and shows its progress.
import { type Client, type Generation, GenerationFailed } from "../../client/src/client.ts";
import type { Terminal } from "./terminal.ts";

/** Shorter intervals than those of a program, because a user is waiting. */
const POLL_MS = [300, 5000] as const;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const REDRAW_MS = 120;
/** About two minutes. A restarting service is available again well within this time. */
const POLL_TRIES = 16;

export const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (parts[0] === 0 ? parts.slice(1) : parts).map((part) => String(part).padStart(2, "0")).join(":");
};

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** One line about a running generation: `running  attempt 2  00:06  held $0.28`. */
export const progressLine = (generation: Generation, elapsedMs: number | null): string =>
  [
    generation.status,
    ...(generation.attempts > 0 ? [`attempt ${generation.attempts}`] : []),
    ...(elapsedMs === null ? [] : [clock(elapsedMs)]),
    ...(typeof generation.reserved_usd === "number" ? [`held ${usd(generation.reserved_usd)}`] : []),
    ...(generation.message ? [generation.message] : []),
  ].join("  ");

/**
 * Polls until the generation has succeeded or failed. Transient errors (429, 503, a lost connection) are retried.
 * @throws StillRunning after `timeoutS`; the generation continues.
 */
export const waitForEnd = async (
  client: Client,
  first: Generation,
  more: {
    terminal: Terminal;
    signal: AbortSignal;
    timeoutS: number | undefined;
  },
): Promise<Generation> => {
  const { terminal, signal, timeoutS } = more;
  const startMs = performance.now();
  let current = first;
  let silentUntilMs = 0;
  let frame = 0;
  const draw = () => {
    const spinner = terminal.isLive ? `${SPINNER[frame++ % SPINNER.length]} ` : "";
    const nowMs = performance.now();
    const line = progressLine(current, terminal.isLive ? nowMs - startMs : null);
    terminal.progress(spinner + (nowMs < silentUntilMs ? "the service does not respond; retrying" : line));
  };
  const onUpdate = (generation: Generation) => {
    current = generation;
    if (generation.status === "queued" || generation.status === "running") draw();
  };
  const onRetry = (_: unknown, pauseMs: number) => {
    silentUntilMs = terminal.isLive ? performance.now() + pauseMs + REDRAW_MS : 0;
  };
  const redraw = terminal.isLive ? setInterval(draw, REDRAW_MS) : undefined;
  try {
    return await client.wait(first, { signal, timeoutS, onUpdate, onRetry, pollMs: POLL_MS, tries: POLL_TRIES });
  } catch (fault) {
    if (fault instanceof GenerationFailed) return fault.generation;
    throw fault;
  } finally {
    clearInterval(redraw);
    terminal.progress(null);
  }
};
