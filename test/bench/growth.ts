// Bench of growth: CPU time of submissions, polls and whole generations with millions stored, against ten thousand.

import { type Bench, hold, type Result } from "./bench.ts";
import { seatedOn } from "./provided.ts";
import type { Side } from "./rounds.ts";
import { beside, playRounds } from "./rounds.ts";
import { type Service, startService } from "./service.ts";
import { IN_LINE, polls, type Stage, submissions } from "./sides.ts";
import { copyStocked, endStocked, makeEnded, type StockedHome, takeEnded } from "./stock.ts";
import { playTogether } from "./turns.ts";
import { ON_FAL, requireDelivery, startSubmitter, withProvider } from "./upstream.ts";

/** Stored generations of both sides. */
export const FEW = 10_000;
const MANY = 10_000_000;
const MANY_IN_SHORT = 1_000_000;
export const manyOf = (isShort: boolean): number => (isShort ? MANY_IN_SHORT : MANY);
/** A rate that both sides sustain: the bench compares the cost of a request, and the small store must stay small. */
const RATE = 2_000;
/** A high rate shortens the warm-up. */
const WARM_RATE = 6_000;
const CONNECTIONS = 64;
const TARGET = 1.5;
/** The provider counts by endpoint, so each side has a separate one; both deliver the same picture. */
const MODELS = {
  ours: { ...ON_FAL, id: "picture-many", endpoint: "bench/many" },
  other: { ...ON_FAL, id: "picture-few", endpoint: "bench/few" },
};

type Two<T> = { ours: T; other: T };
const both = async <T, U>({ ours, other }: Two<T>, work: (of: T) => Promise<U>): Promise<Two<U>> => ({
  ours: await work(ours),
  other: await work(other),
});
const stageOf = ({ dir, tenants }: StockedHome, service: Service): Stage => ({
  ...{ dir, tenants, service, keys: tenants.map(({ key }) => key) },
});

export const growth: Bench = {
  name: "growth",
  compares: "CPU time of a submission, a poll of a recent one and a whole life: 10,000,000 stored (1,000,000 in short) / 10,000",
  takesEnded: manyOf,
  run: async (env) => {
    const many = manyOf(env.isShort);
    const homes: Two<StockedHome> = {
      ours: await takeEnded(many, env.report),
      other: await makeEnded(FEW),
    };
    const unplayed = copyStocked(homes.other);
    const names = { ours: `${many.toLocaleString("en-US")} stored`, other: `${FEW.toLocaleString("en-US")} stored` };
    const reported = { unit: "CPU µs", sides: `${names.ours} / ${names.other}`, target: TARGET, wants: "at most" } as const;
    const results: Result[] = [];

    // Whole generations first, because they leave nothing in flight; later submissions stay queued.
    const lives = await withProvider(async (provider) => {
      const settings = seatedOn(provider, Object.values(MODELS));
      const services = await both(homes, ({ dir }) => startService({ dir, env: settings }));
      const players = {
        ours: await startSubmitter(stageOf(homes.ours, services.ours), MODELS.ours),
        other: await startSubmitter(stageOf(homes.other, services.other), MODELS.other),
      };
      const helpers = [provider.pid, players.ours.pid, players.other.pid];
      const sideOf = (name: "ours" | "other") => ({
        ...{ name: names[name], dir: homes[name].dir, model: MODELS[name], pid: services[name].pid },
        ...{ helpers, player: players[name] },
      });
      const sides = { ours: sideOf("ours"), other: sideOf("other") };
      const played = await playTogether(sides, env);
      for (const player of Object.values(players)) player.stop();
      await both(sides, (side) => requireDelivery(side, provider));
      await both(services, (service) => service.stop());
      return played;
    });

    // Flushes the gigabytes of pictures to disk before the next measurement.
    Bun.spawnSync(["sync"]);
    // The whole generations have made the small store large.
    await endStocked(homes.other);
    homes.other = unplayed;
    const services = await both(homes, ({ dir }) => startService({ dir, env: IN_LINE }));
    const measured = async (name: string, isRight: string, stream: (home: StockedHome) => Side["streams"][number]) => {
      const sideOf = (which: "ours" | "other"): Side => ({
        ...{ name: names[which], port: services[which].port, pids: [services[which].pid] },
        streams: [stream(homes[which])],
      });
      const sides = { ours: sideOf("ours"), other: sideOf("other") };
      const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: RATE, warmRate: WARM_RATE, warmTogether: true };
      const { ours, other } = await playRounds(sides, plan, (status) => status === isRight);
      results.push(hold({ name, ...reported, ...beside({ ours, other }) }, ours.cpuUs, other.cpuUs));
    };
    await measured("growth, poll", "200", ({ seen }) => polls(seen));
    await measured("growth, submit", "202", ({ tenants }) => submissions(tenants.map(({ key }) => key)));
    await both(services, (service) => service.stop());
    const { ours, other } = lives;
    const whole = { ...reported, sides: `a whole life: ${reported.sides}`, ...beside(lives) };
    results.push(hold({ name: "growth, settle", ...whole }, ours.cpuUs, other.cpuUs));
    for (const home of Object.values(homes)) await endStocked(home);
    return results;
  },
};
