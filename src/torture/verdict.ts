// Verdict of a torture run as readable text: coverage, losses and findings.
//
// A finding includes the command that reproduces it.
import type { Disk } from "./disk.ts";
import type { Progress, TortureEnd, Unjudged } from "./torture.ts";

const FAULTS_SHOWN = 5;
const MAX_FAULT = 1000;

const count = (n: number | undefined, one: string, many = `${one}s`): string =>
  `${(n ?? 0).toLocaleString("en-US")} ${n === 1 ? one : many}`;

/** `1:05` */
export const clockOf = (ms: number): string => {
  const wholeS = Math.max(0, Math.round(ms / 1000));
  return `${Math.floor(wholeS / 60)}:${String(wholeS % 60).padStart(2, "0")}`;
};

/** `1 min 5 s` */
const lengthOf = (ms: number): string => {
  const wholeS = Math.max(0, Math.round(ms / 1000));
  const [minutes, seconds] = [Math.floor(wholeS / 60), wholeS % 60];
  return [...(minutes > 0 ? [`${minutes} min`] : []), ...(seconds > 0 || minutes === 0 ? [`${seconds} s`] : [])].join(" ");
};

export const progressLine = (progress: Progress, tookMs: number, longestMs: number): string => {
  const { doing, kills, submissions, worlds } = progress;
  const done = [count(kills, "crash", "crashes"), count(submissions, "submission")];
  if (worlds > 0) done.push(count(worlds, "simulated world"));
  return `${clockOf(tookMs)} of ${clockOf(longestMs)} · ${done.join(", ")} · ${doing}`;
};

const diskLine = ({ kind, freeBytes, syncMs }: Disk): string =>
  `disk: ${kind}, ${(freeBytes / 1e9).toFixed(1)} GB free; a sync takes ${syncMs.p50} ms (p50), ${syncMs.p99} ms (p99), ` +
  `${syncMs.longest} ms (longest of ${syncMs.syncs})`;

const HEADLINES: Record<Unjudged, string> = {
  "disk-full": "No verdict: the disk is full.",
  stopped: "No verdict: the run was stopped before its end.",
};

/** One line per fact; the first states the result. */
export const verdictLines = (end: TortureEnd): { headline: string; lines: string[] } => {
  const { findings, disk, figures, unjudged } = end;
  const ok = findings.length === 0 && unjudged === null;
  /** The guarantee behind a figure, printed only if every audit passed. */
  const promised = (text: string) => (ok ? `: ${text}` : "");
  /** A figure that was never counted is omitted, not printed as 0. */
  const reported = (figure: number | undefined, line: string) => (figure === undefined ? [] : [line]);
  const { acknowledged, credits, jobs, replayed, killsInSending, audits, worlds } = figures;
  const tried = [
    `${count(acknowledged, "acknowledged submission")} over ${count(figures.kills, "crash", "crashes")} ` +
      `in ${lengthOf(end.tookMs)}${promised("0 missing, 0 changed after their end, 0 unfinished")}`,
    ...reported(credits, `${count(credits, "credit")} charged${promised("0 missing, 0 charged twice, 0 still held")}`),
    ...reported(jobs, `${count(jobs, "job")} at the simulated providers${promised("0 submitted twice, 0 without a record")}`),
    ...reported(
      replayed,
      `${count(replayed, "repeated submission")} answered${promised("0 with another generation than the first time")}`,
    ),
    ...reported(
      killsInSending,
      `${(killsInSending ?? 0).toLocaleString("en-US")} of the crashes happened during a submission to a provider`,
    ),
    ...(ok && audits ? [`the thirteen invariants were verified ${count(audits, "time")}: all of them hold`] : []),
    ...(worlds ? [`${count(worlds, "simulated world")} with failing disks, providers and clocks${promised("0 findings")}`] : []),
    diskLine(disk),
  ];
  if (unjudged !== null) return { headline: HEADLINES[unjudged], lines: tried };
  if (ok) return { headline: "Nothing was lost.", lines: tried };
  const broken = findings.flatMap(({ check, faults }) => [
    `broken: ${check}`,
    ...faults.slice(0, FAULTS_SHOWN).map((fault) => `    ${fault.slice(0, MAX_FAULT)}`),
    ...(faults.length > FAULTS_SHOWN ? [`    and ${faults.length - FAULTS_SHOWN} more`] : []),
  ]);
  return { headline: `${count(findings.length, "invariant was", "invariants were")} broken.`, lines: [...broken, ...tried] };
};
