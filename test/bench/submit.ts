// Submission: the service as shipped against the ceiling rung, which stores one row per submission and nothing else.
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Bench, closely, hold } from "./bench.ts";
import { beside, playRounds, type Side } from "./rounds.ts";
import { fillStored, IN_LINE, insistOnRows, isGeneration, startRung, submissions, withService } from "./sides.ts";
import { startYardstick } from "./yardstick.ts";

const CONNECTIONS = 64;

export const submit: Bench = {
  name: "submit",
  compares: "POST /v1/generations at 64 connections: the service / Elysia, key, price and group commit of one row (the ceiling)",
  run: (env) =>
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
          const plan = { ...closely(env, 3), forMs: env.roundMs, connections: CONNECTIONS, rate: null, isBody: isGeneration };
          const { ours, other, yardstick: theirs } = await playRounds(sides, plan, (status) => status === "202");
          insistOnRows("the service", join(dir, DATABASE_FILE), ours.accepted);
          insistOnRows("the ceiling", join(rung.dir, "ceiling.db"), other.accepted);
          const same = { sides: "the service / the ceiling rung", ...beside({ ours, other }) };
          const ceiling = { name: "submit, ceiling", unit: "req/s", target: 0.9, wants: "at least" } as const;
          const held =
            yardstick && hold({ ...ceiling, sides: `the ceiling rung / ${yardstick.name}` }, other.perSecond, theirs.perSecond);
          return [
            ...(held ? [held] : []),
            hold({ name: "submit", unit: "req/s", target: 0.6, wants: "at least", ...same }, ours.perSecond, other.perSecond),
            hold({ name: "submit CPU", unit: "µs/req", target: 1.8, wants: "at most", ...same }, ours.cpuUs, other.cpuUs),
          ];
        } finally {
          rung.stop();
          yardstick?.stop();
        }
      },
      fillStored,
    ),
};
