// Bench of whole generations: the service against a bare loop with the same upstream calls, picture, file and commits.
import { type Bench, hold } from "./bench.ts";
import { seatedOn } from "./provided.ts";
import { beside } from "./rounds.ts";
import { requireSameRows } from "./same-rows.ts";
import { verify } from "./service.ts";
import { homeWithStored, type Stage, withService } from "./sides.ts";
import { playLives } from "./turns.ts";
import { IN_FLIGHT, INPUT, ON_FAL, POLL_EVERY_MS, requireDelivery, startLoop, startSubmitter, withProvider } from "./upstream.ts";

/** The loop writes the same rows as the service; the bytes on disk also depend on the size of commits. */
const MOST_WRITTEN = 1.25;
/** The long warm-up of short runs is for comparisons of services; the loop is warm after seconds. */
const WARM_LONGER = 3;
/** For two so different sides, rounds of 1 s differ by a factor of two: those of a short run are longer. */
const SHORT = { rounds: 3, roundMs: 2_000 };
/** The provider counts its requests by endpoint. */
const BY_LOOP = { ...ON_FAL, endpoint: "bench/loop" };

/**
 * Both sides keep 256 generations in flight at the same provider, which takes no time, and one poll shows each result. The service
 * learns when the jobs of the route end, and polls earlier than the loop. Both call the provider over kept connections, fetch the
 * picture over a separate one, read its size with the same decoder, and sync the file and its directories in the same order. Both make
 * the same four commits, each with all that arrive together. The loop writes the service's rows into the service's schema by plain
 * statements without lookups. The service receives submissions over HTTP; the loop admits its own. Both sides must write the same
 * rows, and both directories are verified.
 */
export const lifecycle: Bench = {
  name: "lifecycle",
  compares: "whole generations, 256 in flight: the service / a bare loop with the same calls, picture, file and commits",
  run: (env) =>
    withProvider((provider) => {
      const settings = seatedOn(provider, [ON_FAL]);
      const live = async (stage: Stage) => {
        const { dir, tenants: payers, drop } = await homeWithStored();
        const submitter = await startSubmitter(stage, ON_FAL);
        const loop = await startLoop({
          ...{ dir, payers, base: provider.falUrl, endpoint: BY_LOOP.endpoint, model: BY_LOOP.id },
          ...{ input: INPUT, inFlight: IN_FLIGHT, pollEveryMs: POLL_EVERY_MS },
        });
        const helpers = [provider.pid, submitter.pid];
        const sides = {
          ours: { name: "the service", dir: stage.dir, model: ON_FAL, pid: stage.service.pid, helpers, player: submitter },
          other: { name: "the bare loop", dir, model: BY_LOOP, pid: loop.pid, helpers: [provider.pid], player: loop },
        };
        const lives = { ...env.lives, ...(env.isShort ? SHORT : {}) };
        const warmAtMostMs = lives.warmAtMostMs * WARM_LONGER;
        const { ours, other } = await playLives(sides, { ...env, lives: { ...lives, warmAtMostMs } });
        await requireSameRows(sides.ours, sides.other);
        submitter.stop();
        loop.stop();
        if (other.writtenKb.median > MOST_WRITTEN * ours.writtenKb.median)
          throw new Error(
            `the bare loop wrote ${other.writtenKb.median} kB per generation, the service ${ours.writtenKb.median}`,
          );
        await requireDelivery(sides.ours, provider);
        await requireDelivery(sides.other, provider);
        await verify(dir);
        drop();
        const held = {
          name: "lifecycle",
          unit: "gen/s",
          sides: "the service / a bare loop",
          target: 0.8,
          wants: "at least",
          ...beside({ ours, other }),
        } as const;
        const reported = {
          name: "lifecycle, written",
          unit: "kB/gen",
          sides: held.sides,
          target: 1,
          wants: "at most",
          isNote: true,
        } as const;
        return [hold(held, ours.perSecond, other.perSecond), hold(reported, ours.writtenKb, other.writtenKb)];
      };
      return withService({ env: settings }, live, "stored");
    }),
};
