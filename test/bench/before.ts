// Bench of the service against an earlier build: submissions, polls, memory, and whole generations.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { BINARY, type Genrouter } from "../../src/torture/crash/processes.ts";
import { accountOf } from "../bombs/fixture.ts";
import { childrenOf } from "../bombs/resident.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { type Bench, closely, type Env, hold, type Result, spreadOf } from "./bench.ts";
import { type Weight, weighAwake } from "./memory.ts";
import { seatedOn } from "./provided.ts";
import { beside, playRounds } from "./rounds.ts";
import type { Kind } from "./rungs/kinds.ts";
import { startService, verify } from "./service.ts";
import { IN_LINE, isGeneration, polls, type Stage, submissions, submitSome } from "./sides.ts";
import { type LifeSide, playLives, playTogether } from "./turns.ts";
import { type BenchModel, requireDelivery, startSubmitter, withProvider } from "./upstream.ts";

const CONNECTIONS = 64;
const POLLED = 5_000;
const PROCESSES = 4;
const ACCOUNTS = 16;
const USD = 1_000_000;
const SUBMITTED = "vidmodel-2.0-fast.json";
/** The largest allowed regressions; clips and sounds have a wider bound, because the service checks them more closely now. */
const AT_LEAST = 0.95;
const AT_MOST = 1.05;
const LOOKED_AT = 0.8;
const SIDES = "this build / the build of before";

/** A build on a directory that it has created, because neither build can read the other's directory. */
const withBuild = async <T>(
  genrouter: Genrouter,
  env: Readonly<Record<string, string>>,
  work: (stage: Stage) => Promise<T>,
): Promise<T> => {
  const home = makeScratch("bench-before-");
  const dir = join(home, "data");
  mkdirSync(dir);
  const keys: string[] = [];
  for (let n = 0; n < ACCOUNTS; n += 1)
    keys.push((await accountOf(genrouter, { GENROUTER_DATA__DIR: dir }, `bench ${n}`, USD, "--simulate")).key);
  const service = await startService({ dir, env, genrouter });
  let done: T;
  try {
    done = await work({ dir, tenants: [], service, keys });
  } catch (fault) {
    await service.kill();
    throw fault;
  }
  await service.stop();
  await verify(dir, genrouter);
  dropScratch(home);
  return done;
};

type Both = Readonly<Record<"ours" | "other", Genrouter>>;
const withBoth = <T>(
  { ours, other }: Both,
  env: Readonly<Record<string, string>>,
  work: (stages: Record<"ours" | "other", Stage>) => Promise<T>,
): Promise<T> => withBuild(ours, env, (mine) => withBuild(other, env, (theirs) => work({ ours: mine, other: theirs })));

const sideOf = (name: string, { service }: Stage, stream: ReturnType<typeof polls>) => ({
  ...{ name, port: service.port, pids: [service.pid], streams: [stream] },
});

/**
 * Polls of generations in flight, then submissions, on both builds at the same time. Two processes of one binary differ by a few
 * percent, so each side has several.
 */
const answered = async (of: Env, both: Both): Promise<Result[]> => {
  const env = closely(of, 5);
  const played = { submit: [] as Record<"ours" | "other", number>[], poll: [] as Record<"ours" | "other", number>[] };
  for (let n = 0; n < PROCESSES; n += 1)
    await withBoth(both, IN_LINE, async ({ ours, other }) => {
      const rounds = Math.ceil(env.rounds / PROCESSES);
      const plan = {
        ...env,
        rounds,
        forMs: env.roundMs,
        connections: CONNECTIONS,
        rate: null,
        isBody: isGeneration,
        together: true,
      };
      const seen = { ours: await submitSome(ours, POLLED), other: await submitSome(other, POLLED) };
      const asked = {
        ours: sideOf("this build", ours, polls(seen.ours)),
        other: sideOf("before", other, polls(seen.other)),
      };
      const polled = await playRounds(asked, plan, (status) => status === "200");
      const sent = {
        ours: sideOf("this build", ours, submissions(ours.keys)),
        other: sideOf("before", other, submissions(other.keys)),
      };
      const submitted = await playRounds(sent, plan, (status) => status === "202");
      const pairs = ({ ours: mine, other: theirs }: typeof polled) =>
        mine.perSecond.each.map((one, at) => ({ ours: one, other: theirs.perSecond.each[at] ?? Number.NaN }));
      played.poll.push(...pairs(polled));
      played.submit.push(...pairs(submitted));
    });
  const held = (name: "submit" | "poll") =>
    hold(
      { name: `before, ${name}`, unit: "req/s", sides: SIDES, target: AT_LEAST, wants: "at least" },
      spreadOf(played[name].map(({ ours }) => ours)),
      spreadOf(played[name].map(({ other }) => other)),
    );
  return [held("submit"), held("poll")];
};

/** The earlier build needed 30 ms of one thread for a sound, and delivered 256 at a time. */
const longer = (env: Env): Env => ({ ...env, lives: { ...env.lives, roundMs: 4 * env.lives.roundMs } });

/**
 * Whole generations of one kind. Child processes of the service check clips and sounds, and their CPU time counts as its own.
 * For pictures both services share a core; for kinds with child processes, which have a low priority, they take turns.
 */
const lives = (of: Env, both: Both, kind: Kind, target: number): Promise<Result[]> =>
  withProvider(async (provider) => {
    const model = (side: string): BenchModel => ({ id: `${kind}-${side}`, provider: "fal", endpoint: `bench/${kind}-${side}` });
    const models = { ours: model("ours"), other: model("other") };
    return withBoth(both, seatedOn(provider, Object.values(models)), async (stages) => {
      const open = async (side: "ours" | "other", name: string): Promise<LifeSide> => {
        const stage = stages[side];
        const player = await startSubmitter(stage, models[side]);
        const pid = () => [stage.service.pid, ...childrenOf(stage.service.pid)];
        return { name, dir: stage.dir, model: models[side], pid, helpers: [provider.pid, player.pid], player };
      };
      const sides = { ours: await open("ours", "this build"), other: await open("other", "before") };
      const { ours, other } = await (kind === "picture" ? playTogether : playLives)(sides, closely(of));
      for (const side of Object.values(sides)) {
        side.player.stop();
        await requireDelivery(side, provider);
      }
      const reported = { unit: "gen/s", sides: SIDES, target, wants: "at least", ...beside({ ours, other }) } as const;
      return [hold({ name: `before, lives of a ${kind}`, ...reported }, ours.perSecond, other.perSecond)];
    });
  });

/** The submitted model, in a form that earlier builds also read. */
const withModel = (): string => {
  const dir = makeScratch("bench-catalogue-");
  mkdirSync(join(dir, "models"));
  copyFileSync(join(import.meta.dir, "../sample/models", SUBMITTED), join(dir, "models", SUBMITTED));
  return dir;
};

const memory = async (env: Env, both: Both): Promise<Result[]> => {
  const catalogue = { GENROUTER_CATALOGUE__DIR: withModel() };
  const weights: Record<"ours" | "other", Weight[]> = { ours: [], other: [] };
  for (let start = 0; start < env.starts; start += 1)
    for (const side of ["ours", "other"] as const)
      weights[side].push(await weighAwake(env, (settings, work) => withBuild(both[side], { ...settings, ...catalogue }, work)));
  const each = (side: "ours" | "other") => spreadOf(weights[side].map(({ rssKb }) => rssKb));
  return [
    hold({ name: "before, memory", unit: "kB", sides: SIDES, target: AT_MOST, wants: "at most" }, each("ours"), each("other")),
  ];
};

export const before: Bench = {
  name: "before",
  compares: "submissions, polls, memory, lives of pictures, clips and sounds: this build / a build of before (--before)",
  needs: "before",
  run: async (env) => {
    const both: Both = { ours: BINARY, other: [env.before ?? ""] };
    return [
      ...(await answered(env, both)),
      ...(await lives(env, both, "picture", AT_LEAST)),
      ...(await lives(env, both, "clip", LOOKED_AT)),
      ...(await lives(longer(env), both, "sound", LOOKED_AT)),
      ...(await memory(env, both)),
    ];
  },
};
