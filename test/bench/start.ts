// Bench of the start: from exec to the first response, with few and with a million stored, against its bounds.
import { type Bench, hold, spreadOf } from "./bench.ts";
import { startService } from "./service.ts";
import { endStocked, giveBackEnded, makeStocked, takeEnded } from "./stock.ts";

const FEW = 10_000;
const MANY = 1_000_000;
/** A start is short, so many are needed for a stable median. */
const STARTS_PER_ROUND = 3;
/** The bounds of the median, ms. */
const FEW_MS = 120;
const MANY_MS = 150;

const startOurs = async (dir: string): Promise<number> => {
  const service = await startService({ dir });
  await service.stop();
  return service.readyMs;
};

export const start: Bench = {
  name: "start",
  compares: "from exec to the first 200 of /readyz, with 10,000 and with 1,000,000 stored / 120 and 150 ms",
  takesEnded: () => MANY,
  run: async (env) => {
    const few = await makeStocked(FEW, "succeeded", {});
    const many = await takeEnded(MANY, env.report);
    const sides = [
      { start: () => startOurs(few.dir), ms: [] as number[] },
      { start: () => startOurs(many.dir), ms: [] as number[] },
    ] as const;
    // The first start of each reads files that are not cached.
    for (const side of sides) await side.start();
    for (let turn = 0; turn < env.starts * STARTS_PER_ROUND; turn += 1)
      for (const side of turn % 2 === 0 ? sides : sides.toReversed()) side.ms.push(await side.start());
    const [withFew, withMany] = sides.map(({ ms }) => spreadOf(ms).median);
    if (withFew === undefined || withMany === undefined) throw new Error("a side was not started");
    env.report(`${withFew.toFixed(1)} ms, ${withMany.toFixed(1)} ms`);
    await endStocked(few);
    // In a short run the growth bench uses the same directory; the last user verifies it, which takes longer than these starts.
    if (env.isShort) giveBackEnded(MANY, many);
    else await endStocked(many);
    const reported = { unit: "ms", sides: "the service / the bound", wants: "at most", target: 1 } as const;
    return [
      hold({ ...reported, name: "start" }, withFew, FEW_MS),
      hold({ ...reported, name: "start, 1,000,000 stored" }, withMany, MANY_MS),
    ];
  },
};
