// Runs the HTTP fuzzer: `npm run fuzz -- [--cases N] [--seed N] [--replay SEED:PATH]`; ends with `N passed, N failed`.
import { readFlags, refuse, wholeOf } from "../flags.ts";

const HELP = `Sends generated requests to a service over HTTP and checks every response against openapi.json, the model list and the ledger.

  npm run fuzz                                   10,000 cases with a random seed
  npm run fuzz -- --cases 300000 --seed 7        the same 300,000 cases each time, in parts of 25,000
  npm run fuzz -- --replay 1234567:12:3:0        repeats the case that a failure printed
  npm run fuzz -- --kept                         only the cases of earlier failures (test/regressions/fuzz-*.json)

  npm run fuzz -- --media 5000                   sends changed media files to the media children and as inputs of a service

  --media N   number of changed media files; sends no requests
  --case N    with --media: only the file with this number
  --cases N   number of cases                    (10000)
  --seed N    seed of the cases                  (random, printed)
  --part N    cases until the service restarts   (25000)
  --lanes N   concurrent cases                   (16)
  --kept      generates no new cases
  --no-keep   does not write a failing case to test/regressions`;

const values = readFlags({
  cases: { type: "string", default: "10000" },
  seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  part: { type: "string", default: "25000" },
  lanes: { type: "string", default: "16" },
  replay: { type: "string" },
  kept: { type: "boolean", default: false },
  "no-keep": { type: "boolean", default: false },
  media: { type: "string" },
  case: { type: "string" },
  help: { type: "boolean", default: false },
  serve: { type: "string" },
  simulator: { type: "string", default: "" },
});

// Each side loads only what it needs: the service's process must not contain the generators.
if (values.help) process.stdout.write(`${HELP}\n`);
else if (values.serve !== undefined) await (await import("./served.ts")).serveOverIpc(values.serve, values.simulator);
else if (values.media !== undefined) {
  const { fuzzMedia } = await import("./media-run.ts");
  const only = values.case === undefined ? undefined : wholeOf("case", values.case, 0);
  const plan = { cases: wholeOf("media", values.media), seed: wholeOf("seed", values.seed, 0), only };
  process.stdout.write(`seed ${plan.seed}\n`);
  process.exit(await fuzzMedia(plan));
} else {
  const [cases, part, lanes] = [wholeOf("cases", values.cases), wholeOf("part", values.part), wholeOf("lanes", values.lanes)];
  const seed = wholeOf("seed", values.seed, 0);
  const { replay } = values;
  if (replay !== undefined && !/^-?\d+(:\d+)+$/.test(replay)) refuse(`--replay: ${JSON.stringify(replay)} is not SEED:PATH`);
  const { runProgram } = await import("./generators.ts");
  const plan = { cases: values.kept ? 0 : cases, part, lanes, seed, replay, keep: !values["no-keep"] };
  process.exit(await runProgram(plan));
}
