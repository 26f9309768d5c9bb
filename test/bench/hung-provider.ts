// A provider that hangs: generations on one provider while another takes every connection and never answers, against the other absent.

import { until } from "../../src/torture/crash/processes.ts";
import { type Bench, closely, hold, type Result } from "./bench.ts";
import { seatedOn } from "./provided.ts";
import { beside } from "./rounds.ts";
import { type Stage, withService } from "./sides.ts";
import { type LifeSide, longestMs, playTogether } from "./turns.ts";
import { type BenchModel, bodyOf, insistOnDelivery, ON_FAL, ON_REPLICATE, startSubmitter, withProvider } from "./upstream.ts";

/** The submissions that a provider may have in flight, and when each is given up, so that the next one hangs. */
const SENT_AT_A_TIME = 64;
const GIVEN_UP_MS = 30_000;
const LOOK_MS = 500;
/** Those that were sent together are given up together, and for a moment none hangs: so many of the looks may find half of them free. */
const MOST_FREE = 0.1;
const AT_A_TIME = 32;

/** The provider counts by endpoint what it is asked for. */
const BY_ITSELF = { ...ON_REPLICATE, endpoint: "bench/by-itself" };

/** Submissions whose only route leads to the provider that hangs. */
const hangAll = async ({ service, keys }: Stage, count: number): Promise<void> => {
  const one = async (from: number) => {
    for (let n = from; n < count; n += AT_A_TIME) {
      const response = await fetch(`${service.url}/v1/generations`, {
        ...{ method: "POST", body: bodyOf(ON_FAL) },
        headers: { authorization: `Bearer ${keys[n % keys.length]}`, "idempotency-key": `hang-${n}` },
      });
      await response.text();
      if (response.status !== 202) throw new Error(`a submission was answered ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, (_, from) => one(from)));
};

/**
 * Two services on the same core, at the same time. One has generations on a provider whose 64 sockets hang all the time; where the
 * other provider is absent, no model has a route there, so that nothing is ever sent.
 */
export const hungProvider: Bench = {
  name: "hung-provider",
  compares: "generations on one provider: while another hangs on every socket / while that one is absent",
  run: (of) =>
    withProvider((provider) => {
      const near = closely(of);
      // In a short run each has half a core to compile on: what they differ by then is who is further.
      const warmAtMostMs = near.lives.warmAtMostMs * (of.isShort ? 2 : 1);
      const env = { ...near, lives: { ...near.lives, warmAtMostMs } };
      const settings = (models: readonly BenchModel[]) => ({
        ...seatedOn({ ...provider, falUrl: `${provider.silentUrl}/fal` }, models),
        // What hangs is not waited for at the end.
        GENROUTER_SERVER__DRAIN_S: "1",
      });
      const sideOf = async (name: string, stage: Stage, model: BenchModel): Promise<Omit<LifeSide, "helpers">> => {
        const player = await startSubmitter(stage, model);
        return { name, dir: stage.dir, model, pid: stage.service.pid, player };
      };
      const hanging = async () => (await provider.counts()).hanging;
      const live = (models: readonly BenchModel[], work: (stage: Stage) => Promise<Result[]>) =>
        withService({ env: settings(models) }, work, "stored");
      return live([ON_FAL, ON_REPLICATE], (hung) =>
        live([BY_ITSELF], async (alone) => {
          const ends = await Promise.all([
            sideOf("one provider hangs", hung, ON_REPLICATE),
            sideOf("it is absent", alone, BY_ITSELF),
          ]);
          // They play at the same time, so whoever helps one of them is on the load's core for both.
          const helpers = [provider.pid, ...ends.map(({ player }) => player.pid)];
          const sides = { ours: { ...ends[0], helpers }, other: { ...ends[1], helpers } };
          // Enough that there is always a next one to hang.
          await hangAll(hung, SENT_AT_A_TIME * (Math.ceil(longestMs(env) / GIVEN_UP_MS) + 2));
          await until("hanging of every socket", async () => (await hanging()) >= SENT_AT_A_TIME);
          const looks: number[] = [];
          const seen = (now: number) => void looks.push(now);
          const watch = setInterval(() => void hanging().then(seen, () => seen(0)), LOOK_MS);
          const { ours, other } = await playTogether(sides, env).finally(() => clearInterval(watch));
          const free = looks.filter((now) => now < SENT_AT_A_TIME / 2).length;
          if (free > MOST_FREE * looks.length)
            throw new Error(`at ${free} of ${looks.length} looks less than half of ${SENT_AT_A_TIME} sockets were hanging`);
          for (const side of [sides.ours, sides.other]) {
            side.player.stop();
            await insistOnDelivery(side, provider);
          }
          const held = {
            unit: "gen/s",
            sides: "a provider hangs / it is absent",
            target: 0.95,
            wants: "at least",
            ...beside({ ours, other }),
          } as const;
          return [hold({ name: "hung-provider", ...held }, ours.perSecond, other.perSecond)];
        }),
      );
    }),
};
