// Bench of submission: the service as shipped against the ceiling rung, which only stores one row for each submission.
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Bench, closely, type Env, hold } from "./bench.ts";
import { beside, joinedRounds, playRounds, type Rounds, type Side } from "./rounds.ts";
import { IN_LINE, isGeneration, requireRows, startRung, submissions, withService } from "./sides.ts";
import { startYardstick } from "./yardstick.ts";

const CONNECTIONS = 64;
/** Processes of one binary differ by ±5 % because of their memory layout, so several of each side play. */
const PROCESSES = 2;

type Played = Record<"ours" | "other", Rounds> & { yardstick?: Rounds; yardstickName: string };

/** The number of rounds for one process of each side. */
const playOnce = (env: Env, rounds: number): Promise<Played> =>
  withService(
    { env: IN_LINE },
    async ({ service, keys, dir }) => {
      const rung = await startRung("ceiling");
      const yardstick = env.yardstick === undefined ? undefined : await startYardstick(env.yardstick);
      try {
        const sides = {
          ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
          other: { name: "the ceiling", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
          ...(yardstick ? { yardstick } : {}),
        } as { ours: Side; other: Side; yardstick: Side };
        const plan = { ...env, rounds, forMs: env.roundMs, connections: CONNECTIONS, rate: null, isBody: isGeneration };
        const played = await playRounds(sides, plan, (status) => status === "202");
        requireRows("the service", join(dir, DATABASE_FILE), played.ours.accepted);
        requireRows("the ceiling", join(rung.dir, "ceiling.db"), played.other.accepted);
        return { ...played, yardstickName: yardstick?.name ?? "" };
      } finally {
        rung.stop();
        yardstick?.stop();
      }
    },
    "stored",
  );

export const submit: Bench = {
  name: "submit",
  compares: "POST /v1/generations at 64 connections: the service / Elysia, key, price and group commit of one row (the ceiling)",
  run: async (env) => {
    const rounds = Math.ceil(closely(env, 5).rounds / PROCESSES);
    const played: Played[] = [];
    for (let n = 0; n < PROCESSES; n += 1) played.push(await playOnce(env, rounds));
    const ours = joinedRounds(played.map((one) => one.ours));
    const other = joinedRounds(played.map((one) => one.other));
    const theirs = joinedRounds(played.flatMap(({ yardstick }) => yardstick ?? []));
    const same = { sides: "the service / the ceiling rung", ...beside({ ours, other }) };
    const ceiling = { name: "submit, ceiling", unit: "req/s", target: 0.9, wants: "at least" } as const;
    const against = { ...ceiling, sides: `the ceiling rung / ${played[0]?.yardstickName}` };
    return [
      ...(env.yardstick === undefined ? [] : [hold(against, other.perSecond, theirs.perSecond)]),
      hold({ name: "submit", unit: "req/s", target: 0.6, wants: "at least", ...same }, ours.perSecond, other.perSecond),
      hold({ name: "submit CPU", unit: "µs/req", target: 1.8, wants: "at most", ...same }, ours.cpuUs, other.cpuUs),
    ];
  },
};
