// Runs the bombs: `npm run bombs -- [--seconds N] [--rate N] [--nodes N] [--only WAY]`; ends with `N passed, N failed`.
import { BINARY, FROM_SOURCES, killAll } from "../../src/torture/crash/processes.ts";
import { aboveZeroOf, namesOf, readFlags, wholeOf } from "../flags.ts";
import { BOMBS, throwsOf } from "./all.ts";
import { poll, serveControl } from "./polling.ts";
import { ROUNDS, type RoundName, WAYS } from "./round.ts";
import { serveBombs } from "./server.ts";

const HELP = `Sends files that are expensive to read to a service, while honest clients submit and /healthz is polled.

  npm run bombs                                   60 s each from a key without credits, from two with 100 USD, and as results
  npm run bombs -- --seconds 20 --only poor       one round of 20 s
  npm run bombs -- --only together                one round with all three at the same time
  npm run bombs -- --nodes 2                      two nodes on one PostgreSQL database and one bucket
  npm run bombs -- --list                         prints the names of the files

  --seconds N     duration of a round             (60)
  --rate N        requests per second             (5)
  --nodes N       number of nodes                 (1)
  --only WAY      ${ROUNDS.join(", ")}
  --seed N        seed of order, sizes and cuts   (1)
  --binary PATH   another build of genrouter; "built" for dist/genrouter (the sources)`;

const values = readFlags({
  seconds: { type: "string", default: "60" },
  rate: { type: "string", default: "5" },
  nodes: { type: "string", default: "1" },
  only: { type: "string" },
  seed: { type: "string", default: "1" },
  binary: { type: "string" },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  role: { type: "string" },
  control: { type: "string", default: "" },
});
const say = (line: string) => process.stdout.write(`${line}\n`);

const throwAll = async (): Promise<never> => {
  const seconds = wholeOf("seconds", values.seconds);
  const [rate, nodes, seed] = [aboveZeroOf("rate", values.rate), wholeOf("nodes", values.nodes), wholeOf("seed", values.seed, 0)];
  const rounds: readonly RoundName[] = values.only === undefined ? WAYS : (namesOf("only", values.only, ROUNDS) as RoundName[]);
  const built = values.binary === "built" ? BINARY : [values.binary ?? ""];
  const genrouter = values.binary === undefined ? FROM_SOURCES : built;
  say(`seed ${seed}, ${BOMBS.length} bombs, ${rate} a second for ${seconds} s, ${nodes === 1 ? "one node" : `${nodes} nodes`}`);
  const [{ openPlace }, { playRound }] = await Promise.all([import("./fixture.ts"), import("./round.ts")]);
  let [passed, failed] = [0, 0];
  const figures: Record<string, unknown> = {};
  for (const name of rounds) {
    const place = await openPlace(genrouter, nodes);
    try {
      const round = await playRound(place, name, { seconds, rate, throws: () => throwsOf(seed) });
      for (const { holds, says } of round.verdicts) {
        if (holds) passed += 1;
        else failed += 1;
        say(`${holds ? "(pass)" : "(fail)"} ${says}`);
      }
      figures[name] = round.figures;
    } finally {
      await place.close();
    }
  }
  say(`figures ${JSON.stringify({ bombs: BOMBS.length, seconds, rate, nodes, ...figures })}`);
  if (failed > 0)
    say(
      `again: npm run bombs -- --seed ${seed} --seconds ${seconds} --rate ${rate} --nodes ${nodes}${values.only === undefined ? "" : ` --only ${values.only}`}`,
    );
  say(`${passed} passed, ${failed} failed`);
  killAll();
  process.exit(failed > 0 ? 1 : 0);
};

if (values.help) say(HELP);
else if (values.list) for (const { name } of BOMBS) say(name);
else if (values.role === "serve") serveBombs();
else if (values.role === "control") serveControl();
else if (values.role === "poll") await poll(values.nodes.split(","), values.control);
else await throwAll();
