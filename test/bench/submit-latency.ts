// Bench of submission latency on an idle service: one connection, against a bare handler with one durable commit.
import { type Bench, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { IN_LINE, isGeneration, startRung, submissions, withService } from "./sides.ts";

/** More connections shorten the warm-up. */
const WARM_CONNECTIONS = 16;

export const submitLatency: Bench = {
  name: "submit-latency",
  compares: "one connection: the service / a bare Elysia handler that writes its body in one durable SQLite commit",
  run: (env) =>
    withService(
      { env: IN_LINE },
      async ({ service, keys }) => {
        const rung = await startRung("commit");
        const sides = {
          ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
          other: { name: "one commit", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys)] },
        };
        const plan = {
          ...env,
          forMs: env.roundMs,
          connections: 1,
          warmConnections: WARM_CONNECTIONS,
          rate: null,
          isBody: isGeneration,
        };
        try {
          const { ours, other } = await playRounds(sides, plan, (status) => status === "202");
          const reported = { sides: "the service / one durable commit", ...beside({ ours, other }) };
          return [
            hold(
              { name: "submit-latency", unit: "µs p50", target: 2, wants: "at most", ...reported },
              ours.p50[0] ?? Number.NaN,
              other.p50[0] ?? Number.NaN,
            ),
          ];
        } finally {
          rung.stop();
        }
      },
      "stored",
    ),
};
