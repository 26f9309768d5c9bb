// Judges the responses of a provider that answers with the result and has no job lookup: none that reached a healthy process is
// dropped, and nothing is purchased again before the wait for a lost one has ended.

import { type Check, type Evidence, matched } from "../../src/torture/crash/audit.ts";
import { AT_ONCE } from "../../src/torture/crash/catalogue.ts";
import type { Life } from "./take-over.ts";
import type { Sent } from "./watch.ts";

export type AtOnce = {
  evidence: Pick<Evidence, "submissions" | "stored">;
  sent: readonly Sent[];
  lives: readonly Life[];
  /** When the result of each job was sent, by job id; absent if the provider ended before. */
  announcedAtMs: ReadonlyMap<string, number>;
  /** How long the service waits for a lost response, from its submission. */
  confirmMs: number;
  /** The moment at which this machine has had an idle processor for `idleMs` since `fromMs`; Infinity if that is not known. */
  idleUntilMs: (fromMs: number, idleMs: number) => number;
};

/**
 * A response is on the disk of its node, or in the store, within this time in which a processor was idle, and on a machine without
 * idle processors within five times as long.
 */
const KEPT_WITHIN_MS = 1000;
const CROWDED_MS = 5 * KEPT_WITHIN_MS;
export const judgeAtOnce = ({
  evidence,
  sent,
  lives,
  announcedAtMs,
  confirmMs,
  idleUntilMs,
}: AtOnce): { checks: Check[]; answers: number; judged: number; boughtAgain: number } => {
  const pids = new Map(sent.map(({ id, n, pid }) => [`${id} ${n}`, pid]));
  /** Whether the process that sent an attempt was unharmed between two moments. */
  const wasLeftAlone = (name: string, fromMs: number, toMs: number): boolean =>
    lives.some((life) => life.pid === pids.get(name) && life.fromMs <= fromMs && life.toMs >= toMs);
  const bought = matched(evidence)
    .filter(({ line }) => line.accepted)
    .map((one) => ({
      ...one,
      name: `${one.one.id} ${one.attempt.n}`,
      sentMs: Math.min(Date.parse(one.line.at), one.attempt.sentAtMs ?? Infinity),
    }));
  const atOnce = bought.filter(({ line }) => line.provider === AT_ONCE && line.answer === 200);
  const judged = atOnce.filter(({ line, name, sentMs }) => {
    const announcedMs = announcedAtMs.get(line.job_id ?? "");
    if (announcedMs === undefined) return false;
    const keptByMs = Math.min(idleUntilMs(announcedMs, KEPT_WITHIN_MS), announcedMs + CROWDED_MS);
    return wasLeftAlone(name, sentMs, keptByMs);
  });
  const dropped = judged.filter(({ line, attempt }) => attempt.job?.jobId !== line.job_id);
  const again = atOnce.flatMap(({ line, one, name, sentMs }) => {
    const next = bought.find((other) => other.one.id === one.id && other.line.job_id !== line.job_id && other.sentMs > sentMs);
    return next === undefined ? [] : [{ name, sentMs, afterMs: next.sentMs - sentMs }];
  });
  const tooSoon = again.filter(
    ({ name, sentMs, afterMs }) => afterMs < confirmMs && wasLeftAlone(name, sentMs, sentMs + afterMs),
  );
  return {
    checks: [
      {
        name: "a response that reached a healthy process is stored on its attempt, whatever happened to the process later",
        faults: dropped.map(
          ({ name, line, attempt }) =>
            `${name}: job ${line.job_id} got a response, but the attempt is ${attempt.state} without it`,
        ),
      },
      {
        name: "without job lookup, a job is purchased again only after confirm_s or when its sender was killed, paused or disconnected",
        faults: tooSoon.map(({ name, afterMs }) => `${name}: purchased again after ${afterMs} ms`),
      },
    ],
    answers: atOnce.length,
    judged: judged.length,
    boughtAgain: again.length,
  };
};
