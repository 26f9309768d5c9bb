// `npm run long`: runs every test program in its long setting, in resumable parts.
//
// Completed parts are recorded with a hash of the code that they ran.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dir, "..");

/**
 * A program in its long setting: `total` of `unit`, `part` at a time. `words` is the command of one part. `folders` are the
 * folders of its code, besides the product and the shared folders of test.
 */
type Long = {
  name: string;
  folders: readonly string[];
  unit: string;
  total: number;
  part: number;
  words: (count: number, seed: number) => string[];
};
const LONG: readonly Long[] = [
  {
    ...{ name: "simulate", folders: ["src/torture/simulation"], unit: "seeds", total: 200_000, part: 5_000 },
    words: (count, seed) => ["src/torture/simulation/main.ts", "--seed", String(seed), "--seeds", String(count)],
  },
  {
    ...{ name: "properties", folders: ["test/properties"], unit: "runs", total: 200_000, part: 20_000 },
    words: (count, seed) => ["test/properties/main.ts", "--runs", String(count), "--seed", String(seed)],
  },
  {
    ...{
      name: "mutants",
      folders: ["src/torture/simulation", "test/mutants", "test/properties"],
      unit: "rounds",
      total: 1,
      part: 1,
    },
    words: () => ["test/mutants/main.ts"],
  },
  {
    ...{ name: "crash", folders: ["src/torture/crash", "test/crash"], unit: "cycles", total: 2_000, part: 100 },
    words: (count, seed) => ["test/crash/main.ts", "--only", "random", "--cycles", String(count), "--seed", String(seed)],
  },
  {
    ...{
      name: "cluster",
      folders: ["src/torture/crash", "test/cluster", "test/crash", "test/postgres"],
      unit: "cycles",
      total: 1_000,
      part: 50,
    },
    words: (count, seed) => ["test/cluster/main.ts", "--cycles", String(count), "--seed", String(seed)],
  },
  {
    ...{
      name: "uploads",
      folders: ["src/torture/crash", "test/uploads", "test/api", "test/cluster", "test/crash", "test/postgres"],
      unit: "uploads",
      total: 10_000,
      part: 2_000,
    },
    words: (count, seed) => [
      "test/uploads/main.ts",
      ...["--only", "disk,bucket,shared", "--uploads", String(count), "--seed", String(seed)],
    ],
  },
  {
    ...{
      name: "outages",
      folders: ["src/torture/crash", "test/outages", "test/cluster", "test/disk-faults", "test/postgres"],
      unit: "rounds",
      total: 1,
      part: 1,
    },
    words: (_, seed) => ["test/outages/main.ts", "--long", "--seed", String(seed)],
  },
  {
    ...{
      name: "move",
      folders: ["test/store-migration", "test/bench", "test/postgres"],
      unit: "generations",
      total: 1_000_000,
      part: 1_000_000,
    },
    words: (count) => ["test/store-migration/main.ts", "--generations", String(count)],
  },
  {
    ...{
      name: "power",
      folders: ["src/torture/crash", "test/power-loss", "test/fault-injection"],
      unit: "cuts",
      total: 500,
      part: 50,
    },
    words: (count, seed) => ["test/power-loss/main.ts", "--cuts", String(count), "--seed", String(seed)],
  },
  {
    ...{ name: "fuzz", folders: ["test/fuzz"], unit: "cases", total: 300_000, part: 30_000 },
    words: (count, seed) => ["test/fuzz/main.ts", "--cases", String(count), "--seed", String(seed)],
  },
  {
    ...{
      name: "faults",
      folders: ["src/torture/crash", "test/disk-faults", "test/fault-injection"],
      unit: "indices",
      total: 500,
      part: 500,
    },
    words: (count) => ["test/disk-faults/main.ts", "--sweep", String(count)],
  },
  {
    ...{
      name: "fuzz-media",
      folders: ["test/fuzz", "test/bombs", "test/media", "src/torture/crash"],
      unit: "files",
      total: 20_000,
      part: 2_000,
    },
    words: (count, seed) => ["test/fuzz/main.ts", "--media", String(count), "--seed", String(seed)],
  },
  {
    ...{ name: "bombs", folders: ["test/bombs", "src/torture/crash"], unit: "seconds", total: 60, part: 60 },
    words: (count, seed) => ["test/bombs/main.ts", "--seconds", String(count), "--seed", String(seed)],
  },
  {
    ...{
      name: "two-faced",
      folders: ["test/two-faced", "test/bombs", "test/media", "src/torture/crash"],
      unit: "orders",
      total: 100,
      part: 100,
    },
    words: (count, seed) => ["test/two-faced/main.ts", "--cases", String(count), "--seed", String(seed)],
  },
  {
    ...{ name: "deliveries", folders: ["test/deliveries"], unit: "wrong ones", total: 500, part: 500 },
    words: (count, seed) => [
      "test/deliveries/main.ts",
      ...["--wrong", String(count), "--right", String(10 * count), "--seed", String(seed)],
    ],
  },
  {
    // After the kill, memory is observed for half an hour; the last twenty minutes are evaluated.
    ...{ name: "soak", folders: ["src/torture/crash", "test/soak"], unit: "minutes", total: 40, part: 40 },
    words: (count, seed) => ["test/soak/main.ts", "--minutes", String(count), "--kill-at", "10", "--seed", String(seed)],
  },
];

/** One line of the record. */
export type Part = {
  name: string;
  seed: number;
  count: number;
  seconds: number;
  passed: number;
  failed: number;
  figures: Record<string, unknown>;
  at: string;
  commit: string;
  /** Hash of all code that the program runs. */
  code: string;
};

const HELP = `The long setting of every program, in parts of some minutes. What is done is kept in test/long-runs/<product>.jsonl and not done again.
<product> stands for every file of the service: a change there restarts every program, a change of a program's own folders
only that program, and a change of a text or of a test nothing.

  npm run long                          everything that is left, one program after the other
  npm run long -- --only simulate,fuzz  these
  npm run long -- --minutes 90          begins no part after 90 minutes
  npm run long -- --show                what is done so far, as a table
`;
const say = (line: string) => process.stdout.write(`${line}\n`);
const refuse = (why: string): never => {
  process.stderr.write(`${why}; see --help\n`);
  process.exit(2);
};
const readWords = () => {
  try {
    return parseArgs({
      options: { only: { type: "string" }, minutes: { type: "string" }, show: { type: "boolean" }, help: { type: "boolean" } },
    }).values;
  } catch (fault) {
    return refuse(fault instanceof Error ? fault.message : String(fault));
  }
};
const values = readWords();
if (values.help) {
  say(HELP);
  process.exit(0);
}

const git = (...words: string[]) =>
  Bun.spawnSync(["git", ...words], { cwd: root })
    .stdout.toString()
    .trim();
/** Code that every part runs. Documents, images, stylesheets, self-contained tests and the records are excluded. */
const PRODUCT = ["src", "actors", "catalogue", "package.json", "package-lock.json", "openapi.json"];
const NO_CODE = /\.(md|svg|css)$|\.test\.ts$/;
const head = () => git("rev-parse", "--short=12", "HEAD");
const commit = head();
const isClean = () => git("status", "--porcelain", "--untracked-files=no", "--", ...PRODUCT, "test", ":!test/long-runs") === "";
if (!isClean()) {
  say("there are changes that are not committed: figures belong to a commit");
  process.exit(2);
}
const codeOf = (...paths: string[]): string => {
  const lines = git("ls-tree", "-r", "HEAD", "--", ...paths).split("\n");
  return Bun.CryptoHasher.hash("sha256", lines.filter((line) => !NO_CODE.test(line)).join("\n"), "hex").slice(0, 12);
};
const product = codeOf(...PRODUCT);
/** Folders of test that several programs import. The folders of a program count for that program alone. */
const SHARED = new Set(["store", "machine", "quote"]);
const shared = git("ls-tree", "--name-only", "HEAD", "test/")
  .split("\n")
  .filter((path) => path.endsWith(".ts") || SHARED.has(path.slice("test/".length)));
const codes = new Map(LONG.map(({ name, folders }) => [name, codeOf(...PRODUCT, ...shared, ...folders)]));
mkdirSync(join(root, "test", "long-runs"), { recursive: true });
const file = join(root, "test", "long-runs", `${product}.jsonl`);
const read = (): Part[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Part]))
        .filter(({ name, code }) => code === codes.get(name))
    : [];
/** A part with failures does not count as completed; a fix changes the hash of the code. */
const doneOf = (name: string) =>
  read().reduce((sum, part) => sum + (part.name === name && part.failed === 0 ? part.count : 0), 0);

const runPart = async (long: Long, count: number, seed: number): Promise<Part> => {
  const beganMono = performance.now();
  const child = Bun.spawn([process.execPath, ...long.words(count, seed)], { cwd: root, stdout: "pipe", stderr: "inherit" });
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    process.stdout.write(chunk);
    said += decoder.decode(chunk, { stream: true });
  }
  const exit = await child.exited;
  const verdict = /^(\d+) passed, (\d+) failed$/m.exec(said.split("\n").slice(-3).join("\n"));
  const figures = [...said.matchAll(/^figures (\{.*\})$/gm)].at(-1)?.[1];
  return {
    ...{ name: long.name, seed, count, seconds: Math.round((performance.now() - beganMono) / 1000) },
    passed: Number(verdict?.[1] ?? 0),
    failed: Math.max(Number(verdict?.[2] ?? 1), exit === 0 ? 0 : 1),
    figures: figures ? (JSON.parse(figures) as Part["figures"]) : {},
    at: new Date().toISOString().slice(0, 10),
    commit,
    code: codes.get(long.name) ?? "",
  };
};

const show = () => {
  say(`product ${product}, commit ${commit}`);
  for (const long of LONG) {
    const parts = read().filter((part) => part.name === long.name);
    const sum = (of: (part: Part) => number) => parts.reduce((total, part) => total + of(part), 0);
    const count = doneOf(long.name);
    const figures: Record<string, number> = {};
    for (const part of parts)
      for (const [name, figure] of Object.entries(part.figures))
        if (typeof figure === "number" && !/seed/i.test(name)) figures[name] = (figures[name] ?? 0) + figure;
    say(
      `${long.name.padEnd(11)} ${String(count).padStart(7)} of ${String(long.total).padEnd(7)} ${long.unit.padEnd(8)} ` +
        `${String(sum((part) => part.failed)).padStart(3)} findings  ${String(Math.round(sum((part) => part.seconds) / 60)).padStart(4)} min  ${parts.at(-1)?.at ?? ""}`,
    );
    if (parts.length > 0) say(`            ${JSON.stringify(figures)}`);
  }
};

const beganMono = performance.now();
const isTimeUp = () => values.minutes !== undefined && performance.now() - beganMono > Number(values.minutes) * 60_000;
const wanted = values.only?.split(",");
const unknown = wanted?.find((name) => !LONG.some((long) => long.name === name));
if (unknown !== undefined) refuse(`--only: no program ${unknown}; one of ${LONG.map(({ name }) => name).join(", ")}`);
if (values.minutes !== undefined && !/^\d{1,4}$/.test(values.minutes)) refuse("--minutes: expected a whole number");
let failed = 0;
if (!values.show)
  for (const long of LONG)
    while (!isTimeUp() && (wanted?.includes(long.name) ?? true) && doneOf(long.name) < long.total && failed === 0) {
      const done = doneOf(long.name);
      say(`== ${long.name}: ${done} of ${long.total} ${long.unit} done`);
      // Every part has its own seeds, the same on every machine.
      const part = await runPart(long, Math.min(long.part, long.total - done), 1_000_000 + done);
      if (!isClean() || head() !== commit) {
        say("the code changed while this part ran: its figures belong to no commit and are not kept");
        process.exit(2);
      }
      appendFileSync(file, `${JSON.stringify(part)}\n`);
      failed += part.failed;
    }
show();
const parts = read();
const findings = parts.reduce((sum, part) => sum + part.failed, 0);
say(`${parts.length - parts.filter((part) => part.failed > 0).length} passed, ${findings} failed`);
process.exit(findings === 0 ? 0 : 1);
