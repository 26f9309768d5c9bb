// The table of providers: responses, confirmation of lost submissions, cancellation, retention, and what is not verified.
import { providerSetting } from "../../src/config/schema.ts";
import { WELL_KNOWN_KEYS } from "../../src/config/well-known-variables.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import type { Adapter, Recovery } from "../../src/providers/port.ts";
import { knownDialects } from "../../src/providers/providers.ts";

const SETTLED: Readonly<Record<Recovery, string>> = {
  key: "sent again with the same key",
  client_id: "looked up by our id",
  list_marker: "found in its list by our mark",
  list_match: "found in its list by its input",
  none: "none: waits, then the attempt is lost",
};

const span = (ms: number): string => {
  if (ms >= 2 * 86_400_000) return `${ms / 86_400_000} days`;
  if (ms >= 2 * 3_600_000) return `${+(ms / 3_600_000).toFixed(1)} h`;
  return ms >= 120_000 ? `${+(ms / 60_000).toFixed(1)} min` : `${ms / 1000} s`;
};

const recoveryText = ({ recovery, findWindowMs, findSettleMs, callbackWaitMs }: Adapter): string => {
  const reported = callbackWaitMs === undefined ? "" : `; its callback is waited for, ${span(callbackWaitMs)}`;
  if (recovery === "none") return SETTLED.none + reported;
  return `${SETTLED[recovery]}, within ${span(findWindowMs)}; proves absence after ${span(findSettleMs)}${reported}`;
};

const cancelText = ({ cancel, cancelOnlyIn }: Adapter): string => {
  if (cancel === undefined) return "no";
  return cancelOnlyIn === undefined ? "yes" : `only ${cancelOnlyIn.join(", ")}`;
};

/** How files reach a provider that opens no links of the service. */
const filesText = ({ uploads = [], takesNoLinks }: Adapter): string => {
  const forms = uploads.map((form) => {
    const { kinds = ["all kinds"], mostBytes } = form;
    const size = `${kinds.join(", ")} up to ${mostBytes / 1_048_576} MB`;
    if (form.as === "inline") return `inside the request (${size})`;
    return `uploaded (${size}; ${form.keptMs === undefined ? "kept for an unknown time" : `kept ${span(form.keptMs)}`})`;
  });
  if (forms.length === 0) return "by link only";
  return `${forms.join(", else ")}${takesNoLinks ? "; never by link" : ""}`;
};

/** A table of all dialects, in the order of their ids. */
export const providerTable = (): string => {
  const rows = knownDialects(readDialects(null))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { adapter, name, account, isChecked: isAsked, known }]) => [
      ...[`\`${id}\``, name, `\`${WELL_KNOWN_KEYS[account] ?? `${providerSetting(account)}__KEY`}\``],
      ...[
        isAsked ? "a job" : "at once",
        recoveryText(adapter),
        cancelText(adapter),
        adapter.readCallback ? "read" : "no",
        filesText(adapter),
      ],
      ...[span(adapter.resultTtlMs), `${known.from.join("; ")} (${known.as_of})`, (known.not_verified ?? []).join("; ")],
    ]);
  const head = [
    ...["provider", "name", "key", "answers with", "a lost submission is", "cancels", "callbacks", "files without links"],
    ...["results kept", "read at", "not verified"],
  ];
  return [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
};
