// Load of the soak: submissions at a steady rate, repeated until they are acknowledged, and polling clients.

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

/** Counts of the clients so far. */
export type Tally = {
  submitted: number;
  succeeded: number;
  failed: number;
  /** Requests that broke or returned 503, most of them around a restart. */
  again: number;
  downloads: number;
  /** Submissions that were skipped because too many were in flight: the machine is too busy for this load. */
  heldBack: number;
  /** Unexpected responses; each is a finding. */
  strange: string[];
};

/** `jobEndsAtMs`: when the provider's job ends, by the clock of this machine. */
export type Acknowledged = { id: string; jobEndsAtMs: number };

export type Load = {
  tally: Tally;
  /** All acknowledged generations. */
  acknowledged: readonly Acknowledged[];
  /** Response times since the last call, ms. */
  takeTimes(): { postMs: number[]; readMs: number[] };
  /** Submits as many generations as are in flight in the long run, so that the load is steady from the start. */
  fill(): Promise<void>;
  begin(): void;
  stop(): Promise<void>;
};

const POLL_EVERY_MS = 2_000;
const PACE_MS = 250;
const FILL_AT_A_TIME = 16;
/** One success in this many is downloaded by its link. */
const DOWNLOAD_EACH = 20;
const MOST_STRANGE = 50;
/** Above this multiple of the planned number in flight nothing is submitted: only a steady load can be judged. */
const MOST_IN_FLIGHT = 1.2;

/** Shares of the load with their inputs: clips, pictures and sound, of both providers. */
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
  /** The generations that each client polls, the oldest first. */
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

  /** Sends one request; undefined without a response. */
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

  /** Sends until acknowledged, always with the same idempotency key, which finds the generation after a broken connection. */
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
        // Computed from the elapsed time, so that a late timer catches up.
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
