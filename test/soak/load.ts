// The load of a soak: submissions at a steady rate that are sent again until they are answered, and clients that poll.

import type { JsonObject } from "../../src/domain/types.ts";
import { chance } from "../../src/simulator/fault-script.ts";
import type { Tenant } from "../../src/torture/crash/crash-fixture.ts";
import type { RunTimes } from "./times.ts";

export type LoadPlan = {
  url: string;
  tenants: readonly Tenant[];
  /** Submissions per second, and how many are in flight before the clock starts. */
  rate: number;
  inFlight: number;
  clients: number;
  seed: number;
  times: RunTimes;
};

/** What callers have seen so far. */
export type Tally = {
  submitted: number;
  succeeded: number;
  failed: number;
  /** Requests that broke or were told to come again, most of them around a restart. */
  again: number;
  downloads: number;
  /** Submissions that were left out because too many were in flight: the machine is too busy with other things for this load. */
  heldBack: number;
  /** Answers that nothing explains; each is a finding. */
  strange: string[];
};

/** `jobEndsAtMs`: when its provider will have its result, by the clock of this machine. */
export type Acknowledged = { id: string; jobEndsAtMs: number };

export type Load = {
  tally: Tally;
  /** Every generation that was acknowledged. */
  acknowledged: readonly Acknowledged[];
  /** Times of answers since the last look, ms. */
  takeTimes(): { postMs: number[]; readMs: number[] };
  /** Puts as many in flight as there are in the long run, so that the load is steady from the start. */
  fill(): Promise<void>;
  begin(): void;
  stop(): Promise<void>;
};

const POLL_EVERY_MS = 2_000;
const PACE_MS = 250;
const FILL_AT_A_TIME = 16;
/** One success in so many is downloaded by its link. */
const DOWNLOAD_EACH = 20;
const MOST_STRANGE = 50;
/** Above so many times what is to be in flight no more is submitted: the load is steady, or it says nothing. */
const MOST_IN_FLIGHT = 1.2;

/** Shares of the load, with what is asked for: clips, pictures and sound, of both providers. */
const ORDERS: readonly (readonly [upTo: number, model: string, input: JsonObject])[] = [
  [0.6, "vidmodel-2.0-fast", { resolution: "480p", duration: 4 }],
  [0.85, "sim-image-1", { quality: "low" }],
  [1, "sim-speech-1", {}],
];

export const openLoad = (plan: LoadPlan): Load => {
  const { url, tenants, clients, times } = plan;
  const roll = chance(plan.seed + 1);
  const tally: Tally = { submitted: 0, succeeded: 0, failed: 0, again: 0, downloads: 0, heldBack: 0, strange: [] };
  const acknowledged: Acknowledged[] = [];
  /** Per client what it waits for, the one that waited longest first. */
  const waiting: string[][] = Array.from({ length: clients }, () => []);
  let postMs: number[] = [];
  let readMs: number[] = [];
  let count = 0;
  let isOver = false;
  const timers: ReturnType<typeof setInterval>[] = [];
  const underWay = new Set<Promise<void>>();

  const track = (work: Promise<void>) => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };
  const strange = (text: string) => {
    if (tally.strange.length < MOST_STRANGE) tally.strange.push(text);
  };
  const keyOf = (client: number) => tenants[client % tenants.length]?.key ?? "";

  /** One request; undefined when nobody answered. */
  const ask = async (key: string, path: string, into: number[], body?: string, idempotencyKey = "") => {
    const fromMono = performance.now();
    try {
      const response = await fetch(path.startsWith("http") ? path : `${url}${path}`, {
        headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "idempotency-key": idempotencyKey }) },
        ...(body === undefined ? {} : { method: "POST", body }),
        signal: AbortSignal.timeout(30_000),
      });
      const shown = (await response.json()) as (JsonObject & { output?: { urls: string[] } | null }) | null;
      into.push(performance.now() - fromMono);
      if (shown === null) {
        strange(`${path} ${response.status} without a body`);
        return undefined;
      }
      return { status: response.status, shown };
    } catch {
      return undefined;
    }
  };

  /** Sends until it is answered, always with the same key: what a broken connection hides is found again by it. */
  const submit = async (runS: number): Promise<void> => {
    count += 1;
    const client = count % clients;
    const pick = roll();
    const [, model, input] = ORDERS.find(([upTo]) => pick < upTo) ?? [1, "sim-image-1", {}];
    const body = JSON.stringify({
      model,
      input: { prompt: `soak ${plan.seed} ${count} [sim:late-ms=${Math.round(runS * 1000)}]`, ...input },
    });
    const idempotencyKey = `soak-${plan.seed}-${count}`;
    for (;;) {
      const answered = await ask(keyOf(client), "/v1/generations", postMs, body, idempotencyKey);
      if (answered && (answered.status === 202 || answered.status === 200)) {
        const id = String(answered.shown.id);
        acknowledged.push({ id, jobEndsAtMs: Date.now() + runS * 1000 });
        waiting[client]?.push(id);
        tally.submitted += 1;
        return;
      }
      if (answered && answered.status !== 503) {
        strange(`POST ${answered.status} ${JSON.stringify(answered.shown).slice(0, 200)}`);
        return;
      }
      if (isOver) return;
      tally.again += 1;
      await Bun.sleep(PACE_MS);
    }
  };

  const download = async (link: string) => {
    const response = await fetch(link).catch(() => undefined);
    const bytes = await response?.bytes().catch(() => undefined);
    if (response?.status === 200 && bytes && bytes.length > 0) tally.downloads += 1;
    else if (response) strange(`GET file ${response.status}`);
  };

  const poll = async (client: number): Promise<void> => {
    const line = waiting[client];
    const id = line?.shift();
    if (!line || id === undefined) return;
    const answered = await ask(keyOf(client), `/v1/generations/${id}`, readMs);
    const status = answered?.shown.status;
    if (answered?.status !== 200) {
      tally.again += 1;
      if (answered && answered.status !== 503) strange(`GET ${id} ${answered.status}`);
      line.push(id);
    } else if (status === "succeeded") {
      tally.succeeded += 1;
      const [link] = answered.shown.output?.urls ?? [];
      if (tally.succeeded % DOWNLOAD_EACH === 0 && link !== undefined) await download(link);
    } else if (status === "failed") {
      tally.failed += 1;
      strange(`${id} failed: ${JSON.stringify(answered.shown.error)}`);
    } else line.push(id);
  };

  return {
    tally,
    acknowledged,
    takeTimes: () => {
      const taken = { postMs, readMs };
      postMs = [];
      readMs = [];
      return taken;
    },
    fill: async () => {
      let left = plan.inFlight;
      const one = async () => {
        while (left > 0) {
          left -= 1;
          await submit(times.caught());
        }
      };
      await Promise.all(Array.from({ length: FILL_AT_A_TIME }, one));
    },
    begin: () => {
      const fromMono = performance.now();
      let begun = 0;
      const submitDue = () => {
        // By the time that has passed: a late timer makes up for what it missed.
        const due = Math.floor(((performance.now() - fromMono) / 1000) * plan.rate);
        for (; begun < due; begun += 1)
          if (count - tally.succeeded - tally.failed > plan.inFlight * MOST_IN_FLIGHT) tally.heldBack += 1;
          else track(submit(times.fresh()));
      };
      timers.push(setInterval(submitDue, Math.max(5, 1000 / plan.rate / 2)));
      for (let client = 0; client < clients; client += 1)
        setTimeout(() => {
          if (!isOver) timers.push(setInterval(() => track(poll(client)), POLL_EVERY_MS));
        }, roll() * POLL_EVERY_MS);
    },
    stop: async () => {
      isOver = true;
      for (const timer of timers) clearInterval(timer);
      await Promise.all(underWay);
    },
  };
};
