// Bench of the model list: the service against bare Elysia that sends the same bytes with the same headers.
import { type Bench, closely, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { IN_LINE, keepAnswer, startRung, withService } from "./sides.ts";

const CONNECTIONS = 64;
const GET = "GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n";

export const models: Bench = {
  name: "models",
  compares: "GET /v1/models: the service / bare Elysia sending the same bytes and headers",
  run: (env) =>
    withService({ env: IN_LINE }, async ({ service }) => {
      const response = await fetch(`${service.url}/v1/models`);
      const rung = await startRung(`copy:${await keepAnswer(response)}`);
      const stream = { heads: [GET], isKeyed: false, body: "" };
      const sides = {
        ours: { name: "the service", port: service.port, pids: [service.pid], streams: [stream] },
        other: { name: "bare Elysia", port: rung.port, pids: [rung.pid], streams: [stream], isYardstick: true },
      };
      const plan = { ...closely(env, 3), forMs: env.roundMs, connections: CONNECTIONS, rate: null };
      const { ours, other } = await playRounds(sides, plan, (status) => status === "200").finally(() => rung.stop());
      const reported = { unit: "req/s", sides: "the service / bare Elysia", target: 0.85, wants: "at least" } as const;
      return [hold({ name: "models", ...reported, ...beside({ ours, other }) }, ours.perSecond, other.perSecond)];
    }),
};
