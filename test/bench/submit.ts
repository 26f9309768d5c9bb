// Submission: the service as shipped against the ceiling rung, which stores one row per submission and nothing else.
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Bench, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { fillStored, IN_LINE, insistOnRows, isGeneration, startRung, submissions, withService } from "./sides.ts";

const CONNECTIONS = 64;

export const submit: Bench = {
  name: "submit",
  compares: "POST /v1/generations at 64 connections: the service / Elysia, key, price and group commit of one row (the ceiling)",
  run: (env) =>
    withService(
      { env: IN_LINE },
      async ({ service, keys, dir }) => {
        const rung = await startRung("ceiling");
        try {
          const sides = {
            ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
            other: { name: "the ceiling", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
          };
          const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null, isBody: isGeneration };
          const { ours, other } = await playRounds(sides, plan, (status) => status === "202");
          insistOnRows("the service", join(dir, DATABASE_FILE), ours.accepted);
          insistOnRows("the ceiling", join(rung.dir, "ceiling.db"), other.accepted);
          const same = { sides: "the service / the ceiling rung", ...beside({ ours, other }) };
          return [
            hold({ name: "submit", unit: "req/s", target: 0.6, wants: "at least", ...same }, ours.perSecond, other.perSecond),
            hold({ name: "submit CPU", unit: "µs/req", target: 1.8, wants: "at most", ...same }, ours.cpuUs, other.cpuUs),
          ];
        } finally {
          rung.stop();
        }
      },
      fillStored,
    ),
};
