// The table of long runs, from their records: amount, findings, duration, figures, and commit of each program.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import type { Part } from "../../scripts/long.ts";

/** The figures that are shown for each program, and the name of its unit. */
const SHOWN: Readonly<Record<string, { unit: string; figures: readonly string[] }>> = {
  simulate: { unit: "seeds", figures: ["generations", "lives", "crashes", "arrivals", "jobs", "happenings"] },
  properties: { unit: "runs", figures: [] },
  mutants: { unit: "round", figures: ["mutants", "found", "longestMs"] },
  crash: {
    unit: "cycles",
    figures: [
      ...["kills", "killsInSending", "bootKills", "acknowledged", "submissions", "interrupted", "longestBootMs", "webhooks"],
      ...[
        "killsAt.queued",
        "killsAt.running.awaitingSlot",
        "killsAt.running.submitting.intent",
        "killsAt.running.submitting.sending",
      ],
      ...["killsAt.running.backingOff", "killsAt.running.confirming.acceptance", "killsAt.running.confirming.result"],
      ...["killsAt.running.polling", "killsAt.running.collecting.fetching"],
    ],
  },
  cluster: {
    unit: "cycles",
    figures: [
      ...["kills", "killsInSending", "wokenAfterTheirEnd", "databaseCrashes", "databaseRestarts", "takeOvers", "takenOver"],
      ...["takeOversExcused", "longestTakeOverMs", "acknowledged", "submissions", "webhooks", "controlLate"],
    ],
  },
  uploads: {
    unit: "uploads",
    figures: [
      ...["cutByClient", "killedWithService", "killedWithClient", "serviceKills", "clientKills"],
      ...["acknowledged", "whole", "deleted", "swept"],
    ],
  },
  power: { unit: "cuts", figures: ["cutsThatTook", "acknowledged", "files", "control1Lost", "control2Lost", "control3Lost"] },
  fuzz: { unit: "cases", figures: ["requests", "longest_ms", "gain_mb"] },
  "fuzz-media": { unit: "files", figures: ["sent", "findings"] },
  bombs: { unit: "seconds", figures: ["bombs"] },
  faults: { unit: "indices", figures: ["write.lives", "write.struck", "sync.lives", "sync.struck"] },
  soak: {
    unit: "minutes",
    figures: ["submitted", "resident memory, growth", "heap, growth", "ready after", "event loop lag", "POST", "GET"],
  },
};

const number = new Intl.NumberFormat("en-US");
const figureOf = (parts: readonly Part[], wanted: string): string[] => {
  const values = parts.flatMap(({ figures }) => Object.entries(figures).filter(([name]) => name.startsWith(wanted)));
  const numbers = values.flatMap(([name, value]) => (name === wanted && typeof value === "number" ? [value] : []));
  if (numbers.length === 0) return values.map(([name, value]) => `${name}: ${value}`);
  const isMost = /longest|slowest|gain/.test(wanted);
  return [`${wanted} ${number.format(isMost ? Math.max(...numbers) : numbers.reduce((sum, one) => sum + one, 0))}`];
};

/** Parts with the same code as the newest part. A part that was repeated counts once. */
const ofNewestCode = (parts: readonly Part[]): Part[] => {
  const code = parts.toSorted((a, b) => a.at.localeCompare(b.at)).at(-1)?.code;
  const own = parts.filter((part) => part.code === code);
  return own.filter(({ seed, failed }, at) => failed > 0 || own.findIndex((one) => one.seed === seed && one.failed === 0) === at);
};

/** One row per program. Failed parts count as findings and not as runs. */
export const longTable = (root = resolve(import.meta.dir, "../..")): string[][] => {
  const files = [...new Glob("test/long-runs/*.jsonl").scanSync({ cwd: root })].sort();
  const parts = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Part])),
  );
  return Object.entries(SHOWN).flatMap(([name, { unit, figures }]) => {
    const all = ofNewestCode(parts.filter((part) => part.name === name));
    const own = all.filter(({ failed }) => failed === 0);
    const sum = (of: (part: Part) => number) => own.reduce((total, part) => total + of(part), 0);
    const dates = [...new Set(all.map(({ at }) => at))];
    const commits = [...new Set(all.map(({ commit }) => `\`${commit.slice(0, 7)}\``))];
    if (all.length === 0) return [];
    return [
      [
        `\`${name}\``,
        `${number.format(sum(({ count }) => count))} ${unit}`,
        number.format(all.reduce((total, { failed }) => total + failed, 0)),
        `${Math.round(sum(({ seconds }) => seconds) / 60)} min`,
        figures.flatMap((wanted) => figureOf(own, wanted)).join("; "),
        `${dates.join(", ")} at ${commits.join(", ")}`,
      ],
    ];
  });
};
