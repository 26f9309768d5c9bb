// Bench of the start: from exec to the first response, against a bare compiled Bun.serve, with few and with a million stored.
import { join } from "node:path";
import { freePort, run } from "../../src/torture/crash/processes.ts";
import { dropScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { type Bench, hold, spreadOf } from "./bench.ts";
import { onServerCore } from "./machine.ts";
import { startService } from "./service.ts";
import { endStocked, giveBackEnded, makeStocked, takeEnded } from "./stock.ts";

const FEW = 10_000;
const MANY = 1_000_000;
const LOOK_MS = 1;
/** A start is short, so many are needed for a stable median. */
const STARTS_PER_ROUND = 3;
const BARE_SERVER = join(import.meta.dir, "rungs/bare-server.ts");

let alive: ReturnType<typeof Bun.spawn> | undefined;
killAtTheEnd(() => alive?.kill("SIGKILL"));

/** Compiled with the options of `scripts/build.mjs`. */
const COMPILED = [
  ...["--compile", "--production", "--sourcemap", "--bytecode", "--format=esm"],
  ...["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"],
];
const compileBare = async (dir: string): Promise<string> => {
  const outfile = join(dir, "bare-server");
  const { code, output: said } = await run([process.execPath, "build", ...COMPILED, `--outfile=${outfile}`, BARE_SERVER]);
  if (code !== 0) throw new Error(`the bare server could not be compiled: ${said}`);
  return outfile;
};

/** Sends the same request as to the service. @returns the time from exec to the first response, ms. */
const startBare = async (binary: string): Promise<number> => {
  const port = await freePort();
  const fromMono = performance.now();
  const child = Bun.spawn(onServerCore([binary]), {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    env: { PORT: String(port) },
  });
  alive = child;
  for (;;) {
    const seen = await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: "close" } }).catch(() => undefined);
    if (seen?.status === 200) break;
    if (child.exitCode !== null) throw new Error(`the bare server ended with ${child.exitCode}`);
    await Bun.sleep(LOOK_MS);
  }
  const ms = performance.now() - fromMono;
  child.kill("SIGKILL");
  await child.exited;
  return ms;
};

const startOurs = async (dir: string): Promise<number> => {
  const service = await startService({ dir });
  await service.stop();
  return service.readyMs;
};

export const start: Bench = {
  name: "start",
  compares: "from exec to the first 200 of /readyz, with 10,000 and with 1,000,000 stored / a bare compiled Bun.serve",
  takesEnded: () => MANY,
  run: async (env) => {
    const scratch = makeScratch("bench-start-");
    const binary = await compileBare(scratch);
    const few = await makeStocked(FEW, "succeeded", {});
    const many = await takeEnded(MANY, env.report);
    const sides = [
      { start: () => startBare(binary), ms: [] as number[] },
      { start: () => startOurs(few.dir), ms: [] as number[] },
      { start: () => startOurs(many.dir), ms: [] as number[] },
    ] as const;
    // The first start of each reads files that are not cached.
    for (const side of sides) await side.start();
    for (let turn = 0; turn < env.starts * STARTS_PER_ROUND; turn += 1)
      for (const side of turn % 2 === 0 ? sides : sides.toReversed()) side.ms.push(await side.start());
    const [bare, withFew, withMany] = sides.map(({ ms }) => spreadOf(ms));
    if (!bare || !withFew || !withMany) throw new Error("a side was not started");
    env.report(`bare ${bare.median.toFixed(1)} ms, ${withFew.median.toFixed(1)} ms, ${withMany.median.toFixed(1)} ms`);
    await endStocked(few);
    // In a short run the growth bench uses the same directory; the last user verifies it, which takes longer than these starts.
    if (env.isShort) giveBackEnded(MANY, many);
    else await endStocked(many);
    dropScratch(scratch);
    const reported = { unit: "ms", sides: "the service / a bare compiled Bun.serve", wants: "at most" } as const;
    return [
      hold({ ...reported, name: "start", target: 3 }, withFew, bare),
      hold({ ...reported, name: "start, 1,000,000 stored", target: 4 }, withMany, bare),
    ];
  },
};
