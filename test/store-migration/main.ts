// Store migration program: `npm run move -- [--generations N]`. It migrates a data directory of that size into PostgreSQL with
// interruptions, and ends with `N passed, N failed`.
import { run, start } from "../../src/torture/crash/processes.ts";
import { makeStocked } from "../bench/stock.ts";
import { builtBinary } from "../built.ts";
import { readFlags, wholeOf } from "../flags.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openServer } from "../postgres/server.ts";

const HELP = `Usage: npm run move -- [--generations N] [--kills N]

Fills a data directory with settled generations, migrates it into a new PostgreSQL database with the built binary, which is
killed during the migration and restarted, and verifies both stores.
  --generations N  number of generations (default 20000); a million need 4 GB in SQLite, 5 GB in PostgreSQL and about ten minutes
  --kills N        number of kills (default 2)

Examples:
  $ npm run move
  $ npm run move -- --generations 1000000
`;
const say = (line: string) => process.stdout.write(`${line}\n`);
const said = readFlags({
  generations: { type: "string", default: "20000" },
  kills: { type: "string", default: "2" },
  help: { type: "boolean", default: false, short: "h" },
});
if (said.help) {
  say(HELP);
  process.exit(0);
}
const flags = { generations: wholeOf("generations", said.generations), kills: wholeOf("kills", said.kills, 0) };
if (postgresReason !== undefined) {
  say(`skipped: ${postgresReason}\n0 passed, 0 failed`);
  process.exit(0);
}

let passed = 0;
let failed = 0;
const judge = (name: string, isSo: boolean, otherwise = ""): void => {
  if (isSo) passed += 1;
  else failed += 1;
  say(`${isSo ? "(pass)" : "(fail)"} ${name}${isSo ? "" : `\n${otherwise}`}`);
};
const secondsSince = (mono: number): number => Math.round((performance.now() - mono) / 100) / 10;

const [genrouter, server] = [await builtBinary(say), await openServer()];
const began = performance.now();
say(`stocking ${flags.generations} generations`);
const home = await makeStocked(flags.generations, "succeeded", { report: say });
const stockedS = secondsSince(began);
const bin = [...genrouter];
const url = server.url("moved");
const admin = new Bun.SQL(server.url("postgres"), { max: 1 });
await admin.unsafe("CREATE DATABASE moved");
await admin.close();

const move = [...bin, "migrate-store", "--to", url, "--data", home.dir, "--json"];
const verify = async (what: string, words: string[], env: Record<string, string> = {}): Promise<number> => {
  const mono = performance.now();
  const { code, output: out } = await run([...bin, "verify", "--json", ...words], { GENROUTER_LOG__LEVEL: "error", ...env });
  judge(`genrouter verify over ${what}: the thirteen invariants hold`, code === 0, out.slice(-2000));
  return secondsSince(mono);
};
// The directory is verified before the move, and not read afterwards.
const fileS = await verify("the directory", ["--data", home.dir]);
const movedFrom = performance.now();
/** Each run lasts longer than the one before, so that the kills fall into different steps. */
const lifeMs = Math.max(1500, Math.round(flags.generations / 60));
let kills = 0;
let reported = "";
for (let isOver = false; !isOver; ) {
  const child = start(move, { GENROUTER_LOG__LEVEL: "error" });
  const timer = kills < flags.kills ? setTimeout(() => child.kill("SIGKILL"), lifeMs * (kills + 1)) : undefined;
  const { code, signal } = await child.ended;
  clearTimeout(timer);
  if (signal === "SIGKILL") {
    kills += 1;
    say(`killed after ${secondsSince(movedFrom)} s`);
    continue;
  }
  isOver = true;
  reported = child.output();
  judge(`the migration completes after ${kills} kills`, code === 0, reported.slice(-2000));
}
const moveS = secondsSince(movedFrom);

const databaseS = await verify("the database", [], { GENROUTER_STORE__URL: url });
const both = async (sql: string): Promise<number> => {
  const there = new Bun.SQL(url, { max: 1 });
  const [row] = await there.unsafe(sql);
  await there.close();
  return Number(row?.n);
};
const rows = await both("SELECT count(*) AS n FROM generation");
judge(`all ${flags.generations} generations are in the database`, rows === flags.generations, `there are ${rows}`);
const bytes = await both("SELECT pg_database_size(current_database()) AS n");

say(
  `figures ${JSON.stringify({ ...flags, kills, stockedS, moveS, verifyFileS: fileS, verifyDatabaseS: databaseS, databaseMb: Math.round(bytes / 1e6) })}`,
);
say(`${passed} passed, ${failed} failed`);
home.drop();
await server.stop();
process.exit(failed === 0 ? 0 : 1);
