// Bench of submission: the service as shipped against the ceiling rung, which only stores one row for each submission.
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Bench, closely, type Env, hold, type Result } from "./bench.ts";
import { ALLOWS_LOCAL, addEndpoints } from "./endpoints.ts";
import { beside, joinedRounds, playRounds, type Rounds, type Side } from "./rounds.ts";
import { IN_LINE, isGeneration, requireRows, type Stage, startRung, submissions, withService } from "./sides.ts";
import { startYardstick } from "./yardstick.ts";

const CONNECTIONS = 64;
/** Processes of one binary differ by ±5 % because of their memory layout, so several of each side play. */
const PROCESSES = 2;

type Played = Record<"ours" | "other" | "webhooks", Rounds> & { yardstick?: Rounds; yardstickName: string };

const withEndpoints = <T>(work: (stage: Stage) => Promise<T>): Promise<T> =>
  withService({ env: { ...IN_LINE, ...ALLOWS_LOCAL } }, work, "stored", async (dir, tenants) => {
    await addEndpoints(dir, tenants);
  });

/** The number of rounds for one process of each side. */
const playOnce = (env: Env, rounds: number): Promise<Played> =>
  withService(
    { env: IN_LINE },
    (alone) =>
      withEndpoints(async (webhooked) => {
        const rung = await startRung("ceiling");
        const yardstick = env.yardstick === undefined ? undefined : await startYardstick(env.yardstick);
        const sideOf = (name: string, { service, keys }: Stage): Side => ({
          ...{ name, port: service.port, pids: [service.pid], streams: [submissions(keys)] },
        });
        try {
          const sides = {
            ours: sideOf("the service", alone),
            other: { name: "the ceiling", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
            webhooks: sideOf("with webhook endpoints", webhooked),
            ...(yardstick ? { yardstick } : {}),
          } as Record<"ours" | "other" | "webhooks" | "yardstick", Side>;
          const plan = { ...env, rounds, forMs: env.roundMs, connections: CONNECTIONS, rate: null, isBody: isGeneration };
          const played = await playRounds(sides, plan, (status) => status === "202");
          requireRows("the service", join(alone.dir, DATABASE_FILE), played.ours.accepted);
          requireRows("the ceiling", join(rung.dir, "ceiling.db"), played.other.accepted);
          requireRows("with webhook endpoints", join(webhooked.dir, DATABASE_FILE), played.webhooks.accepted);
          return { ...played, yardstickName: yardstick?.name ?? "" };
        } finally {
          rung.stop();
          yardstick?.stop();
        }
      }),
    "stored",
  );

export const submit: Bench = {
  name: "submit",
  compares:
    "POST /v1/generations at 64 connections, without and with a webhook endpoint on each account: the service / Elysia, key, price and group commit of one row (the ceiling)",
  run: async (env) => {
    const rounds = Math.ceil(closely(env, 5).rounds / PROCESSES);
    const played: Played[] = [];
    for (let n = 0; n < PROCESSES; n += 1) played.push(await playOnce(env, rounds));
    const ours = joinedRounds(played.map((one) => one.ours));
    const other = joinedRounds(played.map((one) => one.other));
    const webhooks = joinedRounds(played.map((one) => one.webhooks));
    const theirs = joinedRounds(played.flatMap(({ yardstick }) => yardstick ?? []));
    const ceiling = { name: "submit, ceiling", unit: "req/s", target: 0.9, wants: "at least" } as const;
    const against = { ...ceiling, sides: `the ceiling rung / ${played[0]?.yardstickName}` };
    const compared = (name: string, sides: string, mine: typeof ours): Result[] => {
      const same = { sides: `${sides} / the ceiling rung`, ...beside({ ours: mine, other }) };
      return [
        hold({ name, unit: "req/s", target: 0.6, wants: "at least", ...same }, mine.perSecond, other.perSecond),
        hold({ name: `${name} CPU`, unit: "µs/req", target: 1.8, wants: "at most", ...same }, mine.cpuUs, other.cpuUs),
      ];
    };
    return [
      ...(env.yardstick === undefined ? [] : [hold(against, other.perSecond, theirs.perSecond)]),
      ...compared("submit", "the service", ours),
      ...compared("submit, webhook", "with a webhook endpoint on each account", webhooks),
    ];
  },
};
