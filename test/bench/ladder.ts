// The ladder: from a bare server to the service, with one more feature on each rung, all in the same rounds.
import { type Bench, hold } from "./bench.ts";
import { beside, playRounds, type Side } from "./rounds.ts";
import { headOf, IN_LINE, type Rung, startRung, submissions, withService } from "./sides.ts";

const CONNECTIONS = 64;
/** At this share of its core the generator is the bottleneck. */
const MOST_SHARE = 0.9;

const asked = ({ keys: [key = ""] }: Rung): Side["streams"] => [{ heads: [headOf("GET /", key)], isKeyed: false, body: "" }];
const submitted = ({ keys }: Rung): Side["streams"] => [submissions(keys)];

/** From the bottom up, with the names of rungs/server.ts. */
const LADDER = [
  { rung: "bun-get", says: "bare Bun.serve, GET", streams: asked },
  { rung: "elysia-get", says: "bare Elysia, GET", streams: asked },
  { rung: "elysia-body", says: "Elysia, POST with a JSON body", streams: submitted },
  { rung: "elysia-schema", says: "+ checked against a schema", streams: submitted },
  { rung: "key", says: "+ key and price, nothing stored", streams: submitted },
  { rung: "transaction", says: "+ one transaction per request", streams: submitted },
  { rung: "ceiling", says: "group commit instead (the ceiling)", streams: submitted },
] as const;
type Name = (typeof LADDER)[number]["rung"] | "service";

export const ladder: Bench = {
  name: "ladder",
  compares:
    "bare Bun.serve, bare Elysia, + body, + schema, + key, + one transaction each, + group commit, the service; informational (no target)",
  isInformational: true,
  run: (env) =>
    withService(
      { env: IN_LINE },
      async ({ service, keys }) => {
        const rungs: Rung[] = [];
        const sides: Partial<Record<Name, Side>> = {
          service: { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] },
        };
        try {
          for (const { rung: name, says, streams } of LADDER) {
            const rung = await startRung(name);
            rungs.push(rung);
            sides[name] = { name: says, port: rung.port, pids: [rung.pid], streams: streams(rung) };
          }
          const isRight = (status: string) => status === "202" || status === "200";
          // It has no target, so it may take less time.
          const plan = {
            ...env,
            mayBeFull: true,
            rounds: Math.ceil(env.rounds / 2),
            forMs: env.roundMs,
            connections: CONNECTIONS,
            rate: null,
          };
          const played = await playRounds(sides as Record<Name, Side>, plan, isRight);
          const { ceiling } = played;
          const steps: readonly { rung: Name; says: string }[] = [...LADDER, { rung: "service", says: "the service" }];
          return steps.map(({ rung, says }) => {
            const { perSecond, share } = played[rung];
            // If the generator is the bottleneck, the figure shows its limit and the CPU time of the rung.
            const bounded = share.median >= MOST_SHARE ? "; the generator was full: at least this" : "";
            return hold(
              {
                ...{ name: `ladder: ${rung}`, unit: "req/s", sides: `${says} / the ceiling${bounded}`, isNote: true },
                ...{ target: 0, wants: "at least", ...beside({ ours: played[rung], other: ceiling }) },
              },
              perSecond,
              ceiling.perSecond,
            );
          });
        } finally {
          for (const rung of rungs) rung.stop();
        }
      },
      "stored",
    ),
};
