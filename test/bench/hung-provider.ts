// Bench of a hung provider: generations on one provider while another never responds, against its absence.

import { until } from "../../src/torture/crash/processes.ts";
import { type Bench, closely, hold, type Result } from "./bench.ts";
import { seatedOn } from "./provided.ts";
import { beside } from "./rounds.ts";
import { type Stage, withService } from "./sides.ts";
import { type LifeSide, longestMs, playTogether } from "./turns.ts";
import { type BenchModel, bodyOf, ON_FAL, ON_REPLICATE, requireDelivery, startSubmitter, withProvider } from "./upstream.ts";

/** The limit of submissions in flight to a provider, and their timeout, after which the next one hangs. */
const SENT_AT_A_TIME = 64;
const GIVEN_UP_MS = 30_000;
const LOOK_MS = 500;
/** Submissions that were sent together time out together: this share of the samples may find half of the sockets free. */
const MOST_FREE = 0.1;
const AT_A_TIME = 32;

/** The provider counts its requests by endpoint. */
const BY_ITSELF = { ...ON_REPLICATE, endpoint: "bench/by-itself" };

/** Submissions whose only route is on the hung provider. */
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
 * Two services on the same core at the same time. For one, all 64 sockets of another provider hang; for the other, that provider
 * is absent, and no model has a route there.
 */
export const hungProvider: Bench = {
  name: "hung-provider",
  compares: "generations on one provider: while another hangs on every socket / while that one is absent",
  run: (of) =>
    withProvider((provider) => {
      const near = closely(of);
      // In a short run each has half a core for compilation, and differences would show only the progress of compilation.
      const warmAtMostMs = near.lives.warmAtMostMs * (of.isShort ? 2 : 1);
      const env = { ...near, lives: { ...near.lives, warmAtMostMs } };
      const settings = (models: readonly BenchModel[]) => ({
        ...seatedOn({ ...provider, falUrl: `${provider.silentUrl}/fal` }, models),
        // Hung submissions are not awaited at the end.
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
          // Both run at the same time, so helpers of each are on the load's core.
          const helpers = [provider.pid, ...ends.map(({ player }) => player.pid)];
          const sides = { ours: { ...ends[0], helpers }, other: { ...ends[1], helpers } };
          // Enough submissions that a next one always hangs.
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
            await requireDelivery(side, provider);
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
