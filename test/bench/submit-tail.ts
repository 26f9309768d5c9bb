// Bench of tail latency: 1,000 submissions and 1,000 polls per second at a fixed rate, against the ceiling rung.
import { type Bench, closely, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { IN_LINE, isGeneration, polls, startRung, submissions, submitSome, withService } from "./sides.ts";

const RATE = 2_000;
const CONNECTIONS = 128;
const POLLED = 5_000;

export const submitTail: Bench = {
  name: "submit-tail",
  compares: "1,000 submissions/s and 1,000 polls/s, open loop: the service / the same mix on the ceiling rung",
  run: (env) =>
    withService(
      { env: IN_LINE },
      async (stage) => {
        const seen = await submitSome(stage, POLLED);
        const rung = await startRung("ceiling");
        const there = Array.from({ length: POLLED }, (_, n) => ({
          id: `gen_seed${n}`,
          key: rung.keys[n % rung.keys.length] ?? "",
        }));
        const { service, keys } = stage;
        const sides = {
          ours: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys), polls(seen)] },
          other: { name: "the ceiling", port: rung.port, pids: [rung.pid], streams: [submissions(rung.keys), polls(there)] },
        };
        const plan = {
          ...closely(env),
          forMs: env.roundMs,
          connections: CONNECTIONS,
          rate: RATE,
          countsWaits: true,
          isBody: isGeneration,
        };
        try {
          const { ours, other } = await playRounds(sides, plan, (status) => status === "202" || status === "200");
          const row = (name: string, stream: number) =>
            hold(
              {
                name,
                unit: "µs p99",
                sides: "the service / the ceiling rung",
                target: 2,
                wants: "at most",
                ...beside({ ours, other }),
              },
              ours.p99[stream] ?? Number.NaN,
              other.p99[stream] ?? Number.NaN,
            );
          return [row("submit-tail", 0), row("submit-tail, polls", 1)];
        } finally {
          rung.stop();
        }
      },
      "stored",
    ),
};
