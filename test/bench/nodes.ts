// Bench of three nodes over one PostgreSQL against one: submissions, whole generations, and the distribution of CPU time.
import { type Bench, type Env, hold, type Result, type Spread, spreadOf } from "./bench.ts";
import { seatedOn } from "./provided.ts";
import { beside, playRounds } from "./rounds.ts";
import { withShared } from "./shared.ts";
import { IN_LINE } from "./sides.ts";
import { playLives } from "./turns.ts";
import { type BenchModel, ON_FAL, withProvider } from "./upstream.ts";

const CONNECTIONS = 64;
const COUNT = 3;
/** The provider counts its requests by endpoint. */
const BY_ONE: BenchModel = { ...ON_FAL, endpoint: "bench/one" };
const SIDES = "three nodes / one node, both on all cores with the server and the load";

type Played = { perSecond: Spread; cpuUs: Spread; share: Spread; databaseUs: Spread };

/** The rounds, and the processes whose CPU time a request or a generation used. */
const reportedOf = (what: string, unit: string, { ours, other }: { ours: Played; other: Played }): Result[] => {
  const reported = { sides: SIDES, target: 1, isNote: true } as const;
  const each = `µs/${unit.split("/")[0]}`;
  const ofNodes = ({ cpuUs, databaseUs }: Played): Spread =>
    spreadOf(cpuUs.each.map((us, at) => us - (databaseUs.each[at] ?? Number.NaN)));
  return [
    hold(
      { ...reported, name: `nodes, ${what}`, unit, wants: "at least", ...beside({ ours, other }) },
      ours.perSecond,
      other.perSecond,
    ),
    hold({ ...reported, name: `nodes, ${what}, CPU of nodes`, unit: each, wants: "at most" }, ofNodes(ours), ofNodes(other)),
    hold(
      { ...reported, name: `nodes, ${what}, CPU of PostgreSQL`, unit: each, wants: "at most" },
      ours.databaseUs,
      other.databaseUs,
    ),
  ];
};

const playSubmissions = (env: Env): Promise<Result[]> =>
  withShared(true, async ({ open }) => {
    const three = await open("three nodes", COUNT, IN_LINE);
    const one = await open("one node", 1, IN_LINE);
    const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null, warmTogether: true };
    const played = await playRounds({ ours: three.side, other: one.side }, plan, (status) => status === "202");
    await three.requireRows(played.ours.accepted);
    await one.requireRows(played.other.accepted);
    await three.stop();
    await one.stop();
    return reportedOf("submit", "req/s", played);
  });

const playWholeLives = (env: Env): Promise<Result[]> =>
  withProvider((provider) =>
    withShared(true, async ({ open }) => {
      const three = await open("three nodes", COUNT, seatedOn(provider, [ON_FAL]));
      const one = await open("one node", 1, seatedOn(provider, [BY_ONE]));
      const sides = { ours: await three.play(ON_FAL, provider), other: await one.play(BY_ONE, provider) };
      const played = await playLives(sides, env);
      for (const { player } of Object.values(sides)) player.stop();
      await three.requireDelivery(ON_FAL, provider);
      await one.requireDelivery(BY_ONE, provider);
      await three.stop();
      await one.stop();
      return reportedOf("lives", "gen/s", played);
    }),
  );

/**
 * Both sides use one server, each with a separate database that began with ten thousand stored; clients use the nodes in turn.
 * Everything has the same two cores, so three nodes have no more hardware than one: the bench compares the cost of sharing.
 */
export const nodes: Bench = {
  name: "nodes",
  compares: "submissions at 64 connections, and whole generations: three nodes over one PostgreSQL / one node over the same",
  // Short runs skip long informational parts.
  run: async (env) => [...(await playSubmissions(env)), ...(env.isShort ? [] : await playWholeLives(env))],
};
