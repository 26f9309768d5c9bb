// Bench of the inspector: submissions and whole generations with viewers that never read, against none.
import { openRawViewer } from "../inspector/raw-viewer.ts";
import { type Bench, closely, hold } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { isGeneration, submissions, withService } from "./sides.ts";

/** Submissions per second, each of which runs to its end: five events in three transitions after its admission. */
const RATE = 60;
const CONNECTIONS = 32;
/** Viewers of the live page, and receivers of the Stately protocol. */
const VIEWERS = ["/inspector/api/live", "/inspector/ws", "/inspector/ws", "/inspector/ws"];
const QUICK = { GENROUTER_SIMULATOR__SPEED: "1000" };
const MB = 1024 * 1024;

export const inspector: Bench = {
  name: "inspector",
  compares: "submissions and their whole lives, open loop: the service with four viewers that never read / with none",
  run: (env) =>
    withService({ env: QUICK }, (watched) =>
      withService({ env: QUICK }, async (alone) => {
        const viewers = await Promise.all(VIEWERS.map((path) => openRawViewer(watched.service.url, path)));
        const side = (name: string, { service, keys }: typeof watched) => ({
          ...{ name, port: service.port, pids: [service.pid], streams: [submissions(keys)] },
        });
        const sides = { ours: side("looked at", watched), other: side("alone", alone) };
        const plan = { ...closely(env, 4), forMs: env.roundMs, connections: CONNECTIONS, rate: RATE, warmRate: RATE };
        const { ours, other } = await playRounds(
          sides,
          { ...plan, countsWaits: true, isBody: isGeneration },
          (status) => status === "202",
        );
        const [mine, theirs] = [watched, alone].map(({ service }) => service.residentBytes() / MB);
        for (const viewer of viewers) viewer.close();
        const same = { sides: "four viewers that never read / none", wants: "at most", target: 1.15 } as const;
        return [
          hold(
            { name: "inspector, p50", unit: "µs p50", ...same, ...beside({ ours, other }) },
            ours.p50[0] ?? Number.NaN,
            other.p50[0] ?? Number.NaN,
          ),
          hold(
            { name: "inspector", unit: "µs p99", ...same, target: 1.5, ...beside({ ours, other }) },
            ours.p99[0] ?? Number.NaN,
            other.p99[0] ?? Number.NaN,
          ),
          hold(
            { name: "inspector, memory", unit: "MB resident", ...same, target: 1.5 },
            mine ?? Number.NaN,
            theirs ?? Number.NaN,
          ),
        ];
      }),
    ),
};
