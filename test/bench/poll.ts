// Polls: the service against bare Elysia that sends a ready JSON string of the same size.
import { type Bench, hold } from "./bench.ts";
import { playRounds } from "./rounds.ts";
import { IN_LINE, keepAnswer, polls, startRung, submitSome, withService } from "./sides.ts";
import { stock } from "./stock.ts";

const CONNECTIONS = 64;
/** As many as a busy service answers for again and again. */
const POLLED = 5_000;
const STORED = 10_000;

/** What is polled of those that have ended is the newest, as clients poll them; all ten thousand, more than are kept in memory, are told. */
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
            other: { name: "bare Elysia", port: rung.port, pids: [rung.pid], streams: [polls(seen)] },
          };
          const { ours, other } = await playRounds(
            sides,
            { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null },
            (status) => status === "200",
          );
          rung.stop();
          const cpuUs = { ours: ours.cpuUs.median, other: other.cpuUs.median };
          return hold(
            { name, unit: "req/s", sides: "the service / bare Elysia", target, wants: "at least", cpuUs, ...more },
            ours.perSecond,
            other.perSecond,
          );
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
