// `genrouter torture`: runs crash cycles of this program on the operator's disk.
//
// It also contains the hidden processes of its client and its webhook receiver.
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import type { Progress, Unjudged } from "../../torture/torture.ts";
import { CommandError, EXITS, type Exit } from "../exit-codes.ts";
import { dirOf, type JsonFlag, parseWhole, type Session, withExamples, withJson } from "../session.ts";
import { firstSignal, type StopSignal } from "../signals.ts";

export type TortureFlags = JsonFlag & { minutes: string; dir?: string; seed?: string };

const MAX_MIN = 10_080;
const MAX_SEED = 999_999_999;
const DATABASE_FILE = "genrouter.db";
/** A shorter run has one lane, because a second one would not get beyond its start and end. */
const LANES_FROM_MS = 30_000;
/** Interval of progress output, ms: redrawn on a terminal, one line each otherwise. */
const LIVE_MS = 1000;
const PLAIN_MS = 10_000;
/** Maximum number of faults per check in `--json` output. */
const MAX_FAULTS = 20;

const badFlag = (text: string, fix?: string) =>
  new CommandError(EXITS.usage, text, { code: "bad_flag", ...(fix === undefined ? {} : { fix }) });

const minutesOf = (text: string): number => {
  const minutes = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (minutes > 0 && minutes <= MAX_MIN) return minutes;
  throw badFlag(`--minutes: ${JSON.stringify(text)} is not a number above 0, at most ${MAX_MIN}`);
};

const deviceOf = (dir: string): number | undefined => (existsSync(dir) ? statSync(dir).dev : undefined);

/**
 * Parent of the scratch directory: `--dir`, else beside the data directory if that is on another disk than the current directory.
 */
const placeOf = (session: Session, flags: TortureFlags): string => {
  const { terminal } = session;
  const owned = resolve(dirOf(session, {}));
  const beside = dirname(owned);
  const isOtherDevice = deviceOf(owned) !== undefined && deviceOf(owned) !== deviceOf(".");
  if (flags.dir === undefined && isOtherDevice && deviceOf(beside) !== deviceOf(owned))
    terminal.warn(`the data directory ${owned} is on another disk; name an empty directory on it with --dir to test that disk`);
  const place = resolve(flags.dir ?? (isOtherDevice && deviceOf(beside) === deviceOf(owned) ? beside : "."));
  if (!existsSync(place) || !statSync(place).isDirectory())
    throw badFlag(`--dir: there is no directory ${place}`, "name one that exists, on the disk to be tried");
  if (existsSync(join(place, DATABASE_FILE)))
    throw badFlag(`--dir: ${place} is a data directory, which must not be used`, "name another directory on the same disk");
  return place;
};

/** @throws CommandError 78 if the disk has too little space for a run. */
const checkSpace = (place: string, freeBytes: number, leastBytes: number): void => {
  if (freeBytes >= leastBytes) return;
  const [free, least] = [freeBytes, leastBytes].map((bytes) => Math.floor(bytes / 1e6));
  throw new CommandError(EXITS.unwritable, `the disk of ${place} has ${free} MB free, and torture needs ${least} MB`, {
    fix: "free space, or name a directory on another disk with --dir",
    code: "disk_full",
  });
};

/** Command line that repeats the run: the same program in the same place. */
const wordsAgain = (isCompiled: boolean, { minutes, dir }: TortureFlags, seed: number): string => {
  const program = isCompiled ? "genrouter" : "npm run genrouter --";
  const where = dir === undefined ? "" : ` --dir ${/^[\w./+:@-]+$/.test(dir) ? dir : `'${dir.replaceAll("'", "'\\''")}'`}`;
  return `${program} torture --seed ${seed} --minutes ${minutes}${where}`;
};

/** Exit codes of a run without a verdict. */
const EXIT_OF: Record<Unjudged, Exit> = { "disk-full": EXITS.unwritable, stopped: EXITS.interrupted };

/** Creates an empty directory on the tested disk. @throws CommandError 78 if it cannot be created. */
const makeScratch = (place: string): string => {
  try {
    return mkdtempSync(join(place, "genrouter-torture-"));
  } catch (fault) {
    const why = fault instanceof Error ? fault.message : String(fault);
    throw new CommandError(EXITS.unwritable, `no scratch directory can be made in ${place} (${why})`, {
      fix: "name a writable directory with --dir",
      code: "directory_unusable",
    });
  }
};

/** A signal source for `firstSignal` whose handlers can be removed. */
const watchSignals = () => {
  const heard: [StopSignal, () => void][] = [];
  return {
    on: (signal: StopSignal, seen: () => void) => {
      process.on(signal, seen);
      heard.push([signal, seen]);
    },
    letGo: () => {
      for (const [signal, seen] of heard) process.off(signal, seen);
    },
  };
};

/**
 * Runs the torture and prints its verdict.
 * @param genrouter command line of the tested program; absent: this program.
 * @throws CommandError for an invalid flag or place; errors of the store for a directory that it rejects.
 */
export const torture = async (session: Session, flags: TortureFlags, genrouter?: readonly string[]): Promise<Exit> => {
  const { terminal } = session;
  const longestMs = minutesOf(flags.minutes) * 60_000;
  const seed = flags.seed === undefined ? Date.now() % 1_000_000 : parseWhole(flags.seed, "--seed", 0, MAX_SEED);
  const place = placeOf(session, flags);
  const [{ torture: run }, { progressLine, verdictLines }, { killAll, SELF }, space] = await Promise.all([
    import("../../torture/torture.ts"),
    import("../../torture/verdict.ts"),
    import("../../torture/crash/processes.ts"),
    import("../../torture/disk-space.ts"),
  ]);
  checkSpace(place, space.freeBytesOf(place), space.MIN_FREE_BYTES);
  const scratch = makeScratch(place);
  const drop = () => rmSync(scratch, { recursive: true, force: true });
  let latest: Progress | undefined;
  /** Ends without a verdict. After a kill the scratch directory is kept, because it may be the only evidence of damage. */
  const leave = () => {
    killAll();
    if (latest?.kills) terminal.warn(`remaining files are in ${scratch}`);
    else drop();
  };
  let isStopped = false;
  const signals = watchSignals();
  const atOnce = (exit: 130 | 143) => {
    try {
      leave();
    } finally {
      process.exit(exit);
    }
  };
  // The terminal is closed, so no verdict is printed.
  const onHangup = () => atOnce(EXITS.terminated);
  process.once("SIGHUP", onHangup);
  const beganMono = performance.now();
  const report = () => {
    if (!latest) return;
    const doing = isStopped ? `ending: ${latest.doing}` : latest.doing;
    terminal.progress(progressLine({ ...latest, doing }, performance.now() - beganMono, longestMs));
  };
  const stop = () => {
    isStopped = true;
    report();
  };
  firstSignal(atOnce, signals).then(stop, stop);
  const ticking = setInterval(report, terminal.isLive ? LIVE_MS : PLAIN_MS);
  terminal.note(
    `torture of ${genrouter ? genrouter.join(" ") : "this program"} in ${scratch}, seed ${seed}; Ctrl-C stops it and prints a verdict`,
  );
  try {
    const lanes = longestMs < LANES_FROM_MS ? 1 : Math.min(2, availableParallelism());
    const plan = { scratch, seed, longestMs, lanes, genrouter: genrouter ?? SELF, isStopped: () => isStopped };
    const end = await run(plan, (progress) => {
      const isNew = latest === undefined;
      latest = progress;
      if (isNew) report();
    });
    terminal.progress(null);
    const { unjudged } = end;
    const ok = end.findings.length === 0 && unjudged === null;
    // After a full disk the scratch directory is deleted; otherwise it is kept for analysis if the run failed.
    const isKept = !ok && unjudged !== "disk-full";
    if (!isKept) drop();
    const isCompiled = SELF.length === 1;
    const again = [...new Set(end.findings.map((finding) => wordsAgain(isCompiled, flags, finding.seed)))];
    if (flags.json)
      terminal.print(
        JSON.stringify({
          ok,
          seed,
          took_s: Math.round(end.tookMs / 1000),
          stopped_early: isStopped,
          disk: end.disk,
          figures: end.figures,
          findings: end.findings.map(({ faults, ...finding }) => ({ ...finding, faults: faults.slice(0, MAX_FAULTS) })),
          unjudged,
          kept: isKept ? scratch : null,
          again,
        }),
      );
    else {
      const { headline, lines } = verdictLines(end);
      terminal.print(ok ? `${terminal.paint("green", "✔")} ${headline}` : `${terminal.paint("red", "✘")} ${headline}`);
      for (const line of lines) terminal.print(`  ${line}`);
      if (isKept) terminal.print(`  remaining files are in ${scratch}`);
      if (unjudged === "disk-full")
        terminal.print("  free space, or name a directory on another disk with --dir; the scratch directory was removed");
      for (const line of again) terminal.print(`  run it again with: ${line}`);
    }
    for (const warning of end.disk.warnings) terminal.warn(`${terminal.paint("yellow", "warning:")} ${warning}`);
    if (unjudged !== null) return EXIT_OF[unjudged];
    return ok ? EXITS.ok : EXITS.failure;
  } catch (fault) {
    leave();
    throw fault;
  } finally {
    clearInterval(ticking);
    signals.letGo();
    process.off("SIGHUP", onHangup);
    killAll();
  }
};

export const addTorture = (program: Command, session: Session): void => {
  const command = program
    .command("torture")
    .description("run crash cycles of this program in a scratch directory and verify that no data is lost")
    .option("--minutes <n>", "approximate duration in minutes", "5")
    .option("--dir <dir>", "parent of the scratch directory, on the disk to test (default: the current directory)")
    .option("--seed <n>", "seed of loads, faults and kills (default: random)")
    .action(async (flags: TortureFlags) => {
      // Set until the verdict is known, so that a closed pipe does not result in success.
      session.exit = EXITS.failure;
      session.exit = await torture(session, flags);
    });
  withExamples(withJson(command), "torture", "torture --minutes 60 --dir /var/lib", "torture --seed 7 --json | jq .ok");
  const client = program
    .command("torture-client", { hidden: true })
    .description("run the load client of torture")
    .argument("<plan>", "file with the load plan")
    .action(async (plan: string) => {
      const { runClient } = await import("../../torture/crash/client.ts");
      await runClient(plan);
      session.exit = EXITS.ok;
    });
  withExamples(client, "torture-client plan.json");
  const receiver = program
    .command("torture-receiver", { hidden: true })
    .description("run the webhook receiver of torture")
    .argument("<plan>", "file with the receiver plan")
    .action(async (plan: string) => {
      const { runReceiver } = await import("../../torture/crash/webhook-receiver.ts");
      await runReceiver(plan);
      session.exit = EXITS.ok;
    });
  withExamples(receiver, "torture-receiver plan.json");
};
