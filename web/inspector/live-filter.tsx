// Filter of the live list: kind, account, model, route, state or part of an id.
import type { VNode } from "preact";
import { isWithin } from "../../actors/chart/levels.ts";
import type { ActorRow } from "../../src/inspector/dto.ts";
import { words } from "../words/inspector-words.ts";
import { number } from "./format.ts";
import { stateName } from "./state-name.ts";

export type Filter = { kind: string; account: string; model: string; route: string; state: string; node: string; text: string };
export const NO_FILTER: Filter = { kind: "", account: "", model: "", route: "", state: "", node: "", text: "" };

const FIELDS = {
  kind: (row: ActorRow) => row.kind,
  state: (row: ActorRow) => row.state,
  model: (row: ActorRow) => row.model ?? "",
  route: (row: ActorRow) => row.route ?? "",
  account: (row: ActorRow) => row.account?.id ?? "",
  node: (row: ActorRow) => row.node ?? "",
} as const;
type Name = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as Name[];

const hasText = (row: ActorRow, text: string) =>
  text === "" || row.id.includes(text) || row.name.includes(text) || (row.account?.name.includes(text) ?? false);

/** A compound state stands for all states inside it. */
const fits = (row: ActorRow, name: Name, wanted: string): boolean =>
  wanted === "" || (name === "state" ? isWithin(row.state, wanted) : FIELDS[name](row) === wanted);

/** @param except a field that is ignored, to compute its alternatives. */
export const isWanted = (row: ActorRow, filter: Filter, except?: Name): boolean =>
  hasText(row, filter.text.trim()) && NAMES.every((name) => name === except || fits(row, name, filter[name]));

const labelOf = (row: ActorRow, name: Name): string => {
  if (name === "account") return row.account?.name || (row.account?.id ?? "");
  if (name === "kind") return words.inspector.live.kinds[row.kind];
  return name === "state" ? stateName(row.kind, row.state) : FIELDS[name](row);
};

/** Values of a field among the rows that match the other fields, each with its count. */
const choicesOf = (rows: readonly ActorRow[], filter: Filter, name: Name): [value: string, label: string, count: number][] => {
  const fitting = rows.filter((row) => FIELDS[name](row) !== "" && isWanted(row, filter, name));
  const counts = new Map<string, { label: string; count: number }>();
  for (const row of fitting) {
    const value = FIELDS[name](row);
    const known = counts.get(value);
    if (known) known.count += 1;
    else counts.set(value, { label: labelOf(row, name), count: 1 });
  }
  const chosen = filter[name];
  if (chosen !== "" && !counts.has(chosen))
    counts.set(chosen, { label: chosen, count: fitting.filter((row) => fits(row, name, chosen)).length });
  return [...counts]
    .map(([value, { label, count }]): [string, string, number] => [value, label, count])
    .sort(([a], [b]) => (a < b ? -1 : 1));
};

type Props = { rows: readonly ActorRow[]; filter: Filter; set: (filter: Filter) => void };
export const FilterBar = ({ rows, filter, set }: Props): VNode => {
  const { filter: text } = words.inspector;
  const isNodeShown = filter.node !== "" || rows.some(({ node }) => node !== undefined);
  return (
    <form class="live-filter" aria-label={text.label} onSubmit={(event) => event.preventDefault()}>
      {NAMES.filter((name) => name !== "node" || isNodeShown).map((name) => (
        <label key={name}>
          <span class="unseen">{text[name].label}</span>
          <select value={filter[name]} onChange={({ currentTarget }) => set({ ...filter, [name]: currentTarget.value })}>
            <option value="">{text[name].all}</option>
            {choicesOf(rows, filter, name).map(([value, label, count]) => (
              <option key={value} value={value}>
                {label} ({number(count)})
              </option>
            ))}
          </select>
        </label>
      ))}
      <label>
        <span class="unseen">{text.find}</span>
        <input
          type="search"
          value={filter.text}
          placeholder={text.findAbout}
          onInput={({ currentTarget }) => set({ ...filter, text: currentTarget.value })}
        />
      </label>
      <button
        type="button"
        class="button"
        onClick={() => set(NO_FILTER)}
        disabled={Object.values(filter).every((value) => value === "")}
      >
        {text.clear}
      </button>
    </form>
  );
};
