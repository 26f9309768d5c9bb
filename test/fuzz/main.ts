// Runs the HTTP fuzzer: `npm run fuzz -- [--cases N] [--seed N] [--replay SEED:PATH]`; ends with `N passed, N failed`.
import { readFlags, refuse, wholeOf } from "../flags.ts";

const HELP = `Sends generated requests to a whole service over HTTP and holds every answer against openapi.json, the model list and the ledger.

  npm run fuzz                                   10,000 cases with a random seed
  npm run fuzz -- --cases 300000 --seed 7        many cases, the same each time, in parts of 25,000
  npm run fuzz -- --replay 1234567:12:3:0        one case again, as a failure printed it
  npm run fuzz -- --kept                         only the cases that once failed (test/regressions/fuzz-*.json)

  npm run fuzz -- --media 5000                   changed media files, to the confined children and as inputs of a service

  --media N   how many changed media files, instead of requests
  --case N    of media: this one alone
  --cases N   how many cases                     (10000)
  --seed N    where they come from               (random, printed)
  --part N    cases per life of the service      (25000)
  --lanes N   cases played side by side          (16)
  --kept      no new cases
  --no-keep   a failing case is not written to test/regressions`;

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
