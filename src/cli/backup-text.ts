// Formats backups: size, age, unfinished generations, and the losses of a restore.
import type { Restored } from "../backup/restore.ts";
import { table } from "./terminal.ts";
import { showUsd } from "./usd.ts";

export const sizeText = (bytes: number): string => {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
export const ageText = (ms: number): string => {
  if (ms < HOUR_MS) return `${Math.max(0, Math.floor(ms / MINUTE_MS))} min`;
  return ms < 2 * DAY_MS ? `${Math.floor(ms / HOUR_MS)} h` : `${Math.floor(ms / DAY_MS)} d`;
};

/** `1 file`, `2 files` */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

const SHOWN = 20;

const tally = (words: readonly string[]): string =>
  [...Map.groupBy(words, (word) => word)].map(([word, all]) => `${all.length} ${word}`).join(", ");

/** Generations that were open at the time of the backup. */
export const unfinishedLines = (rows: Restored["unfinished"]): string[] => {
  if (rows.length === 0) return ["no open generations at the time of the backup"];
  const generations = new Map(rows.map(({ generation, status }) => [generation, status]));
  const attempts = rows.flatMap(({ state }) => (state === null ? [] : [state]));
  const head = `open at the time of the backup: ${counted(generations.size, "generation")} (${tally([...generations.values()])})`;
  return [
    attempts.length === 0 ? head : `${head}; attempts: ${tally(attempts)}`,
    ...rows.slice(0, SHOWN).map(({ generation, status, n, state, provider, job }) => {
      const attempt =
        n === null ? "no open attempt" : `attempt ${n} ${state} at ${provider}${job === null ? "" : `, job ${job}`}`;
      return `  ${generation}  ${status}  ${attempt}`;
    }),
    ...(rows.length > SHOWN ? [`  and ${rows.length - SHOWN} more`] : []),
    "in-flight attempts are confirmed with their provider before anything is submitted",
  ];
};

const named = ({ count, ids }: { count: number; ids: string[] }): string =>
  `${ids.join(", ")}${count > ids.length ? ` and ${count - ids.length} more` : ""}`;

const lossLines = (loss: NonNullable<NonNullable<Restored["against"]>["loss"]>): string[] => {
  const { topUps, accounts, keys, revived } = loss;
  return [
    ...(loss.generations > 0 ? [`${counted(loss.generations, "generation")} created since`] : []),
    ...(loss.ended > 0
      ? [`the end of ${counted(loss.ended, "generation")} since: open again, and confirmed with the provider at the next start`]
      : []),
    ...(loss.capturedCredits > 0 ? [`${showUsd(loss.capturedCredits)} charged since, which customers would get back`] : []),
    ...(topUps.count > 0
      ? [`${counted(topUps.count, "top-up")} created since, ${showUsd(topUps.credits)}: customers paid that`]
      : []),
    ...(loss.adjustments > 0 ? [`${counted(loss.adjustments, "adjustment")} created since`] : []),
    ...(accounts.count > 0 ? [`${counted(accounts.count, "account")} created since: ${named(accounts)}`] : []),
    ...(keys.count > 0 ? [`${counted(keys.count, "API key")} created since: ${named(keys)}`] : []),
    ...(revived.count > 0
      ? [
          `${counted(revived.count, "API key")} revoked since would be valid again: ${named(revived)}; revoke them again: genrouter keys revoke`,
        ]
      : []),
    ...(loss.providerKeys > 0 ? [`${counted(loss.providerKeys, "key")} of providers stored since`] : []),
  ];
};

/** Compares a directory with a backup and lists the data that a restore over it would lose. */
export const comparisonLines = ({ manifest, against }: Restored, dir: string): string[] => {
  if (against === null) return [`there is no database in ${dir}: no data would be lost`];
  const { now, loss } = against;
  const names = [...new Set([...Object.keys(manifest.rows), ...Object.keys(now.rows)])];
  const rows = names
    .map((name) => [name, manifest.rows[name] ?? 0, now.rows[name] ?? 0] as const)
    .filter(([, was, is]) => was > 0 || is > 0)
    .map(([name, was, is]) => [`rows of ${name}`, String(was), String(is)]);
  const sums = (["available", "held", "charged", "owed"] as const).map((name) => [
    `${name}, all accounts`,
    showUsd(manifest.ledger[name]),
    showUsd(now.ledger[name]),
  ]);
  const lines = table(["", "BACKUP", "NOW"], [...rows, ...sums], [1, 2]);
  if (loss === null) return [...lines, `${dir} contains the database of another service: none of its data is in this backup`];
  const lost = lossLines(loss);
  if (lost.length === 0) return [...lines, "no data would be lost: there are no later changes"];
  return [...lines, "a restore in its place would lose:", ...lost.map((line) => `  ${line}`)];
};
