// Callbacks: when a job ends, the simulator calls the address that its submission names, if that is on this machine.
import type { Clock } from "../domain/clock.ts";
import type { Json, JsonObject } from "../domain/types.ts";
import { isOnThisMachine } from "./input-files.ts";
import { endsAtMs, type Job } from "./jobs.ts";

/** Names of the query parameters and body members in which the dialects name a callback address. */
const NAMES: ReadonlySet<string> = new Set([
  ...["fal_webhook", "hf_webhook", "webhook", "webhook_url", "webhookURL", "callback_url"],
]);
const PATIENCE_MS = 5_000;

const addressIn = (value: Json): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = NAMES.has(name) && typeof member === "string" ? member : addressIn(member);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** The callback address of a submission; undefined if it names none on this machine. */
export const callbackUrlOf = (query: URLSearchParams, body: JsonObject | undefined): string | undefined => {
  const named = [...query].find(([name]) => NAMES.has(name))?.[1] ?? addressIn(body ?? null);
  return named !== undefined && isOnThisMachine(named) ? named : undefined;
};

export type CallbackSender = {
  /** Calls the address at the end of the job. A failure is ignored, because a callback is only a hint. */
  later(job: Job, url: string): void;
  stop(): void;
};

export const createCallbackSender = (clock: Clock): CallbackSender => {
  const pending = new Set<() => void>();
  const call = (job: Job, url: string) => {
    const body = JSON.stringify({ id: job.id, request_id: job.id, task_id: job.id });
    const headers = { "content-type": "application/json" };
    fetch(url, { method: "POST", redirect: "manual", headers, body, signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  };
  return {
    later: (job, url) => {
      const inMs = endsAtMs(job) - clock.nowMs();
      if (!Number.isFinite(inMs)) return;
      const cancel = clock.after(Math.max(0, inMs), () => {
        pending.delete(cancel);
        call(job, url);
      });
      pending.add(cancel);
    },
    stop: () => {
      for (const cancel of pending) cancel();
      pending.clear();
    },
  };
};
