// Submission: the service as shipped against the ceiling rung, which stores one row per submission and nothing else.
import { type Bench, hold } from "./bench.ts";
import { playRounds } from "./rounds.ts";
import { IN_LINE, startRung, submissions, withService } from "./sides.ts";

const CONNECTIONS = 64;

export const submit: Bench = {
  name: "submit",
  compares: "POST /v1/generations at 64 connections: the service / Elysia, key, price and group commit of one row (the ceiling)",
  run: (env) =>
    withService({ env: IN_LINE }, async ({ service, keys }) => {
      const rung = await startRung("ceiling");
      const sides = {
        ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
        other: { name: "the ceiling", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
      };
      const { ours, other } = await playRounds(
        sides,
        { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null },
        (status) => status === "202",
      );
      rung.stop();
      const cpuUs = { ours: ours.cpuUs.median, other: other.cpuUs.median };
      const same = "the service / the ceiling rung";
      return [
        hold(
          { name: "submit", unit: "req/s", sides: same, target: 0.6, wants: "at least", cpuUs },
          ours.perSecond,
          other.perSecond,
        ),
        hold({ name: "submit CPU", unit: "µs/req", sides: same, target: 1.8, wants: "at most" }, ours.cpuUs, other.cpuUs),
      ];
    }),
};
