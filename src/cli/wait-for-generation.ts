// Waiting for a generation: polls until it has ended, and says how it goes on one line.
import { type Client, type Generation, GenerationFailed } from "../../client/src/client.ts";
import type { Terminal } from "./terminal.ts";

/** Somebody is watching: asked more often than a program would. */
const POLL_MS = [300, 5000] as const;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const REDRAW_MS = 120;
/** About two minutes: a service that restarts is back well within them; one that is silent for longer is gone. */
const POLL_TRIES = 16;

export const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (parts[0] === 0 ? parts.slice(1) : parts).map((part) => String(part).padStart(2, "0")).join(":");
};

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** One line about a generation under way: `running  attempt 2  00:06  held $0.28`. */
export const progressLine = (generation: Generation, elapsedMs: number | null): string =>
  [
    generation.status,
    ...(generation.attempts > 0 ? [`attempt ${generation.attempts}`] : []),
    ...(elapsedMs === null ? [] : [clock(elapsedMs)]),
    ...(typeof generation.reserved_usd === "number" ? [`held ${usd(generation.reserved_usd)}`] : []),
    ...(generation.message ? [generation.message] : []),
  ].join("  ");

/**
 * Polls until the generation has succeeded or failed. Answers that pass (429, 503, a connection lost) are waited out.
 * @param onChange is called with every state that differs from the one before, the first and the last included.
 * @throws StillRunning after `timeoutS`; the generation goes on.
 */
export const waitForEnd = async (
  client: Client,
  first: Generation,
  more: {
    terminal: Terminal;
    signal: AbortSignal;
    timeoutS: number | undefined;
    onChange: (generation: Generation) => void;
  },
): Promise<Generation> => {
  const { terminal, signal, timeoutS, onChange } = more;
  const startMs = performance.now();
  let current = first;
  let silentUntilMs = 0;
  let frame = 0;
  const draw = () => {
    const spinner = terminal.isLive ? `${SPINNER[frame++ % SPINNER.length]} ` : "";
    const nowMs = performance.now();
    const line = progressLine(current, terminal.isLive ? nowMs - startMs : null);
    terminal.progress(spinner + (nowMs < silentUntilMs ? "the service does not answer; trying again" : line));
  };
  const onUpdate = (generation: Generation) => {
    current = generation;
    onChange(generation);
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
