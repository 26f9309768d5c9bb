// The time of one submission on an idle service: one connection, against a bare handler that makes one durable commit.
import { type Bench, hold } from "./bench.ts";
import { playRounds } from "./rounds.ts";
import { IN_LINE, startRung, submissions, withService } from "./sides.ts";

export const submitLatency: Bench = {
  name: "submit-latency",
  compares: "one connection: the service / a bare Elysia handler that makes one durable SQLite commit",
  run: (env) =>
    withService({ env: IN_LINE }, async ({ service, keys }) => {
      const rung = await startRung("transaction");
      const sides = {
        ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
        other: { name: "one commit", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
      };
      const { ours, other } = await playRounds(
        sides,
        { ...env, forMs: env.roundMs, connections: 1, rate: null },
        (status) => status === "202",
      );
      rung.stop();
      const [mine, theirs] = [ours.p50[0] ?? Number.NaN, other.p50[0] ?? Number.NaN];
      return [
        hold(
          { name: "submit-latency", unit: "µs p50", sides: "the service / one durable commit", target: 2, wants: "at most" },
          mine,
          theirs,
        ),
      ];
    }),
};
