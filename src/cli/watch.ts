// Waiting for a generation: polls until it has ended, and says how it goes on one line.
import { ApiFault, type Client, type GenerationResource, pause } from "./client.ts";
import { CommandFault, EXITS } from "./exits.ts";
import type { Terminal } from "./terminal.ts";

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5000;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const REDRAW_MS = 120;
/** A service that restarts is back well within this; one that is silent for longer is gone. */
const LONGEST_SILENCE_MS = 120_000;

export const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (parts[0] === 0 ? parts.slice(1) : parts).map((part) => String(part).padStart(2, "0")).join(":");
};

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** One line about a generation under way: `running  attempt 2  00:06  held $0.28`. */
export const progressLine = (generation: GenerationResource, elapsedMs: number | null): string =>
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
 * @throws CommandFault (timedOut) after `timeoutMs`; the generation goes on.
 */
export const waitForEnd = async (
  client: Client,
  first: GenerationResource,
  more: {
    terminal: Terminal;
    signal: AbortSignal;
    timeoutMs: number | null;
    onChange: (generation: GenerationResource) => void;
  },
): Promise<GenerationResource> => {
  const startMs = performance.now();
  let current = first;
  let shown = "";
  let heardAtMs = startMs;
  let frame = 0;
  const draw = () => {
    const spinner = more.terminal.isLive ? `${SPINNER[frame++ % SPINNER.length]} ` : "";
    const elapsedMs = more.terminal.isLive ? performance.now() - startMs : null;
    more.terminal.progress(spinner + progressLine(current, elapsedMs));
  };
  const see = (generation: GenerationResource) => {
    current = generation;
    const { output: _, ...plain } = generation;
    const text = JSON.stringify(plain);
    if (text === shown) return;
    shown = text;
    more.onChange(generation);
    if (generation.status === "queued" || generation.status === "running") draw();
  };

  const redraw = more.terminal.isLive ? setInterval(draw, REDRAW_MS) : undefined;
  try {
    see(first);
    for (let pauseMs = FIRST_PAUSE_MS; current.status === "queued" || current.status === "running"; ) {
      if (more.timeoutMs !== null && performance.now() - startMs > more.timeoutMs)
        throw new CommandFault(
          EXITS.timedOut,
          `${current.id} is still ${current.status} after ${clock(more.timeoutMs)}; it goes on`,
          {
            fix: `genrouter download ${current.id} waits for it again`,
            code: "timed_out",
          },
        );
      // Jitter, so that many clients started together do not poll together.
      await pause(pauseMs * (0.8 + 0.4 * Math.random()), more.signal);
      pauseMs = Math.min(pauseMs * 1.3, LONGEST_PAUSE_MS);
      try {
        see(await client.generation(current.id));
        heardAtMs = performance.now();
      } catch (fault) {
        const passes =
          fault instanceof ApiFault
            ? fault.status >= 500 || fault.status === 429
            : fault instanceof CommandFault && fault.code === "unreachable";
        if (!passes || performance.now() - heardAtMs > LONGEST_SILENCE_MS) throw fault;
        const line = fault instanceof ApiFault ? fault.message : "the service does not answer; trying again";
        if (more.terminal.isLive) more.terminal.progress(line);
        pauseMs = (fault instanceof ApiFault ? fault.retryAfterMs : undefined) ?? Math.max(pauseMs, 1000);
      }
    }
    return current;
  } finally {
    clearInterval(redraw);
    more.terminal.progress(null);
  }
};
