// Judges what became of the answers of a provider that answers with the result and cannot be asked: none that came to a process in order is
// dropped, and nothing is bought again before the wait for a lost one is over.

import { type Check, type Evidence, matched } from "../../src/torture/crash/audit.ts";
import { AT_ONCE } from "../../src/torture/crash/catalogue.ts";
import type { Life } from "./take-over.ts";
import type { Sent } from "./watch.ts";

export type AtOnce = {
  evidence: Pick<Evidence, "submissions" | "stored">;
  sent: readonly Sent[];
  lives: readonly Life[];
  /** When the result of each job was sent, by job id; no entry: the provider ended before. */
  announcedAtMs: ReadonlyMap<string, number>;
  /** How long a lost answer is waited for, from its sending. */
  confirmMs: number;
};

/** An answer is on its node's disk, or in the store, within this time. */
const KEPT_WITHIN_MS = 1000;
export const judgeAtOnce = ({
  evidence,
  sent,
  lives,
  announcedAtMs,
  confirmMs,
}: AtOnce): { checks: Check[]; answers: number; boughtAgain: number } => {
  const pids = new Map(sent.map(({ id, n, pid }) => [`${id} ${n}`, pid]));
  /** Whether the process that sent an attempt was left alone between two moments. */
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
  const dropped = atOnce.filter(({ line, attempt, name, sentMs }) => {
    const announcedMs = announcedAtMs.get(line.job_id ?? "");
    if (attempt.job?.jobId === line.job_id || announcedMs === undefined) return false;
    return wasLeftAlone(name, sentMs, announcedMs + KEPT_WITHIN_MS);
  });
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
        name: "an answer that came to a process in order is on its attempt, whatever became of the process later",
        faults: dropped.map(
          ({ name, line, attempt }) => `${name}: job ${line.job_id} was answered, and the attempt is ${attempt.state} without it`,
        ),
      },
      {
        name: "where nobody can be asked it is bought again only after confirm_s, or when who sent it was harmed",
        faults: tooSoon.map(({ name, afterMs }) => `${name}: bought again after ${afterMs} ms`),
      },
    ],
    answers: atOnce.length,
    boughtAgain: again.length,
  };
};
