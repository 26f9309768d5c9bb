// Formats the progress and the result of a store migration.
import type { Outcome, Progress } from "../store/migrate-to-postgres/migrate.ts";
import { counted, sizeText } from "./backup-text.ts";
import { checkLines } from "./commands/verify.ts";
import type { Terminal } from "./terminal.ts";

/** Progress of the migration. */
export type MigrationStep = Progress | { step: "files"; done: number; of: number; bytes: number };

const BAR_CHARS = 24;
/** Minimum interval between redraws on a terminal, and between lines elsewhere. */
const DRAW_MS = 100;
const LINE_MS = 10_000;
/** Period over which the speed is averaged. */
const SPEED_MS = 10_000;

const numberText = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `40 s`, `3 min 20 s`, `1 h 5 min` */
export const durationText = (ms: number): string => {
  const seconds = Math.max(1, Math.round(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
  if (minutes === 0) return `${seconds} s`;
  return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
};

const barOf = (share: number): string => {
  const full = Math.floor(share * BAR_CHARS);
  return `[${"█".repeat(full)}${"░".repeat(BAR_CHARS - full)}] ${String(Math.floor(share * 100)).padStart(3)}%`;
};

/** Computes speed and remaining time from the last seconds. */
export const createSpeed = (nowMs: () => number) => {
  const seen: { atMs: number; done: number }[] = [];
  return (done: number, of: number): { perS: number; leftMs: number } | undefined => {
    const atMs = nowMs();
    seen.push({ atMs, done });
    while (seen.length > 2 && atMs - (seen[1]?.atMs ?? atMs) > SPEED_MS) seen.shift();
    const first = seen[0];
    if (!first || atMs - first.atMs < 1000 || done === first.done) return undefined;
    const perMs = (done - first.done) / (atMs - first.atMs);
    return { perS: perMs * 1000, leftMs: (of - done) / perMs };
  };
};

const END = { source: "the data directory", target: "the database" } as const;

export const progressLine = (step: MigrationStep, speed: ReturnType<typeof createSpeed>): string => {
  if (step.step === "adding up") return "computing all checksums";
  if (step.step === "settling") return "enabling triggers and counting rows";
  const { done, of } = step;
  const share = of === 0 ? 1 : Math.min(1, done / of);
  if (step.step === "verifying") return `verifying ${END[step.end]}  ${barOf(share)}  ${done} of ${of} checks`;
  const now = speed(done, of);
  const left = now === undefined ? [] : [`${durationText(now.leftMs)} left`];
  if (step.step === "files")
    return [`result files  ${barOf(share)}`, `${numberText(done)} of ${numberText(of)}`, sizeText(step.bytes), ...left].join(
      "  ",
    );
  const rate = now === undefined ? [] : [`${numberText(Math.round(now.perS))} rows/s`];
  return [`migrating  ${barOf(share)}`, step.table, `${numberText(done)} of ${numberText(of)} rows`, ...rate, ...left].join("  ");
};

/** Prints progress: redrawn in place on a terminal, elsewhere at intervals and whenever a new phase starts. */
export const createProgressText = (terminal: Terminal, nowMs: () => number = () => performance.now()) => {
  const speeds = { rows: createSpeed(nowMs), files: createSpeed(nowMs) };
  let what = "";
  let reportedMs = Number.NEGATIVE_INFINITY;
  return (step: MigrationStep): void => {
    const line = progressLine(step, step.step === "files" ? speeds.files : speeds.rows);
    const isOther = what !== `${step.step} ${"end" in step ? step.end : ""}`;
    what = `${step.step} ${"end" in step ? step.end : ""}`;
    if (!isOther && nowMs() - reportedMs < (terminal.isLive ? DRAW_MS : LINE_MS)) return;
    reportedMs = nowMs();
    terminal.progress(line);
  };
};

/** Remaining manual steps after the migration. */
const nextSteps = ({ to, files, leftHere }: Outcome, dir: string, isLocal: boolean): string[] => [
  `start each node with GENROUTER_STORE__URL=${to} (with its password, best from a file: LoadCredential=store.url:FILE in the unit of systemd, else GENROUTER_STORE__URL_FILE)`,
  ...(isLocal
    ? [
        `the result files stay in ${dir}/files, and nodes store result files in a bucket: set files.store = "s3" (deploy/S3.md); the node on this directory uploads them`,
      ]
    : []),
  ...(files !== null && files.missing.length > 0
    ? [`${counted(files.missing.length, "result file is", "result files are")} not in the bucket (listed above); all others are`]
    : []),
  ...(leftHere.spooled > 0
    ? [
        `${counted(leftHere.spooled, "part")} of unfinished results ${leftHere.spooled === 1 ? "lies" : "lie"} in ${dir}/spool: start the first node on this directory`,
      ]
    : []),
  ...(leftHere.sealedKeys > 0
    ? [
        `${counted(leftHere.sealedKeys, "provider key is", "provider keys are")} sealed: every node needs ${dir}/provider-keys.master in its own data directory`,
      ]
    : []),
  `${dir} can no longer start a service; genrouter migrate-store --undo is possible until a service has opened the database`,
];

const verdict = (terminal: Terminal, name: string, checks: Outcome["source"]): string[] => {
  const good = (words: string) => [`${terminal.paint("green", "✔")} ${name}: ${words}`];
  if (checks === null) return good("verified before the interruption");
  const wrong = checks.filter(({ ok }) => !ok);
  return wrong.length === 0
    ? good("all thirteen invariants hold")
    : [`${terminal.paint("red", "✘")} ${name}:`, ...checkLines(terminal, wrong)];
};

/** Result of the migration. */
export const outcomeLines = (
  terminal: Terminal,
  outcome: Outcome,
  { dir, isLocal, tookMs }: { dir: string; isLocal: boolean; tookMs: number },
): string[] => {
  const { isMoved, to, source, target, files, replaced, rows } = outcome;
  const verdicts = [...verdict(terminal, dir, source), ...(isMoved || target !== null ? verdict(terminal, to, target) : [])];
  if (!isMoved)
    return [
      ...verdicts,
      target === null
        ? "nothing was migrated: correct the violations, or restore a backup into another directory and migrate it"
        : `the migration is incomplete: ${dir} remains in use, and no service can open the database`,
    ];
  const count = Object.values(rows).reduce((sum, each) => sum + each, 0);
  return [
    ...verdicts,
    `migrated ${numberText(count)} rows to ${to} in ${durationText(tookMs)}`,
    ...(files === null ? [] : [`${numberText(files.files)} result files are in the bucket`]),
    ...(files?.missing ?? []).map(({ id, n, why }) => `${terminal.paint("yellow", "!")} ${id}, file ${n}: ${why}`),
    ...(replaced > 0
      ? [`${numberText(replaced)} texts contained characters that PostgreSQL cannot store; they were replaced by U+FFFD`]
      : []),
    ...nextSteps(outcome, dir, isLocal),
  ];
};
