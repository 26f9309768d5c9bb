// Runs one round: throws bombs one way while others work, and judges the effects on them and on the machine.
import type { Throw } from "./all.ts";
import type { Place } from "./fixture.ts";
import { deliveringBomb, endsOf, type Thrown, throwBombs, withBomb, workHonestly } from "./load.ts";
import type { Polled } from "./polling.ts";
import { watchResident } from "./resident.ts";

/** Who sends bombs. */
export const WAYS = ["poor", "rich", "results"] as const;
type Way = (typeof WAYS)[number];
/** A round for each, and one in which all send at the same time. */
export const ROUNDS = [...WAYS, "together"] as const;
export type RoundName = (typeof ROUNDS)[number];
const SAYS: Record<RoundName, string> = {
  poor: "from a key without credits",
  rich: "from two accounts with 100 USD each",
  results: "as a provider's results",
  together: "from all of them together",
};

export type Verdict = { holds: boolean; says: string };
export type Round = { verdicts: Verdict[]; figures: Record<string, unknown> };

/** The most that others may wait longer than for a server that does nothing. */
const LONGER_MS = 250;
const GROWS_MB = 300;
const CHILD_MB = 256;
/** How long others continue after the last throw. */
const AFTER_MS = 3000;
const WARM_MS = 4000;
/** The last accepted generation may wait behind many results that cannot be read. */
const DELIVERED_MS = 240_000;

type Plan = { rate: number; untilMs: number; throws: () => Iterator<Throw, never> };
const attackBy = (place: Place, way: Way, { throws, ...plan }: Plan): Promise<Thrown> => {
  const own = { ...plan, throws: throws() };
  if (way === "results") return throwBombs(place, [place.orderer], own, deliveringBomb);
  return throwBombs(place, way === "poor" ? [place.poor] : place.rich, own, withBomb);
};
/** @returns the counts by way */
const attack = async (place: Place, round: RoundName, plan: Plan): Promise<Record<string, Thrown>> => {
  const ways = round === "together" ? WAYS : [round];
  return Object.fromEntries(await Promise.all(ways.map(async (way) => [way, await attackBy(place, way, plan)] as const)));
};

/** Polls the nodes from a separate process. @returns a function that stops it and returns the result. */
const watchOthers = async (place: Place): Promise<() => Promise<Polled>> => {
  const control = place.roles("control");
  const [, url = ""] = await control.hears(/control at (\S+)/);
  const polling = place.roles("poll", "--control", url, "--nodes", place.nodes.map((node) => node.url).join(","));
  await polling.hears(/polling/);
  return async () => {
    polling.kill("SIGTERM");
    const [, reported = "{}"] = await polling.hears(/polled (.*)\n/);
    control.kill("SIGKILL");
    return JSON.parse(reported) as Polled;
  };
};

export const playRound = async (
  place: Place,
  name: RoundName,
  { seconds, rate, throws }: { seconds: number; rate: number; throws: () => Iterator<Throw, never> },
): Promise<Round> => {
  const ended = new Set<string>();
  for (const { url, child } of place.nodes) void child.ended.then(({ code }) => ended.add(`${url} ended with ${code}`));
  // Warms the service up, because memory for normal work is no effect of the bombs.
  await workHonestly(place, performance.now() + WARM_MS, 500);
  const resident = watchResident(place.nodes.map(({ child }) => child.pid));
  const unwatch = await watchOthers(place);
  const untilMs = performance.now() + seconds * 1000;
  const [thrown, honest] = await Promise.all([
    attack(place, name, { rate, untilMs, throws }),
    workHonestly(place, untilMs + AFTER_MS),
  ]);
  const polled = await unwatch();
  const memory = resident.stop();
  const ends = await endsOf(place, place.honest, honest.ids, DELIVERED_MS);
  const grown = Math.max(...memory.map(({ beganMb, peakMb }) => peakMb - beganMb));
  const child = Math.max(...memory.map(({ childPeakMb }) => childPeakMb));
  const says = (what: string) => `${SAYS[name]}: ${what}`;
  return {
    verdicts: [
      {
        holds: polled.unanswered === 0 && polled.longerMs <= LONGER_MS,
        says: says(
          `/healthz responds at most ${LONGER_MS} ms later than a control (${polled.longerMs} ms; worst ${polled.worstMs} ms, control ${polled.controlWorstMs} ms, ${polled.unanswered} of ${polled.asked} unanswered)`,
        ),
      },
      { holds: grown <= GROWS_MB, says: says(`the service grows by at most ${GROWS_MB} MB (${grown} MB)`) },
      { holds: child < CHILD_MB, says: says(`each child stays below ${CHILD_MB} MB resident (${child} MB)`) },
      {
        holds: honest.refused.length === 0 && honest.ids.length > 0,
        says: says(
          `no honest request is refused (${JSON.stringify(honest.answers)}${honest.refused[0] ? `, first: ${honest.refused[0]}` : ""})`,
        ),
      },
      {
        holds: ends.others.length === 0,
        says: says(
          `honest work is delivered (${ends.succeeded} of ${honest.ids.length}${ends.others[0] ? `, first: ${ends.others[0]}` : ""})`,
        ),
      },
      { holds: ended.size === 0, says: says(`no node ends${[...ended].map((one) => `, ${one}`).join("")}`) },
    ],
    figures: {
      thrown,
      honest: honest.answers,
      slowestHonestMs: Math.round(honest.slowestMs),
      polled,
      memory,
    },
  };
};
