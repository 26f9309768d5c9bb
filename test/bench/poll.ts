// Bench of polls: the service against bare Elysia that sends a ready JSON string of the same size.
import { type Bench, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { STORED } from "./rungs/parts.ts";
import { IN_LINE, isGeneration, keepAnswer, polls, startRung, submitSome, withService } from "./sides.ts";
import { stock } from "./stock.ts";

const CONNECTIONS = 64;
/** The number of generations that clients of a busy service poll. */
const POLLED = 5_000;

/**
 * Polls of ended generations use the newest, as clients do, which the service has in memory; polls of all ten thousand, more than
 * its cache holds, are informational. The other side sends only its content type; the service also sends a request id and cache
 * headers.
 */
export const poll: Bench = {
  name: "poll",
  compares: "GET /v1/generations/{id}, in flight and ended: the service / bare Elysia sending a ready string of the same size",
  run: async (env) => {
    let ended: { id: string; key: string }[] = [];
    return withService(
      { env: IN_LINE },
      async (stage) => {
        const inFlight = await submitSome(stage, POLLED);
        const measured = async (name: string, target: number, seen: readonly { id: string; key: string }[], more = {}) => {
          const [first] = seen;
          const response = await fetch(`${stage.service.url}/v1/generations/${first?.id}`, {
            headers: { authorization: `Bearer ${first?.key}` },
          });
          const rung = await startRung(`text:${await keepAnswer(response)}`);
          const sides = {
            ours: { name: "the service", port: stage.service.port, pids: [stage.service.pid], streams: [polls(seen)] },
            other: { name: "bare Elysia", port: rung.port, pids: [rung.pid], streams: [polls(seen)], isYardstick: true },
          };
          const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null, isBody: isGeneration };
          const { ours, other } = await playRounds(sides, plan, (status) => status === "200").finally(() => rung.stop());
          const reported = { unit: "req/s", sides: "the service / bare Elysia", target, wants: "at least", ...more } as const;
          return hold({ name, ...reported, ...beside({ ours, other }) }, ours.perSecond, other.perSecond);
        };
        const judged = [
          await measured("poll, in flight", 0.6, inFlight),
          await measured("poll, ended lately", 0.4, ended.slice(-POLLED)),
        ];
        return env.isShort ? judged : [...judged, await measured("poll, ended", 0.4, ended, { isNote: true })];
      },
      async (dir, tenants) => {
        ended = await stock(dir, tenants, STORED);
      },
    );
  },
};
