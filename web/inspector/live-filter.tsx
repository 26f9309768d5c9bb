// Filter of the live list: kind, account, model, route, state or part of an id.
import type { VNode } from "preact";
import type { ActorRow } from "../../src/inspector/dto.ts";

export type Filter = { kind: string; account: string; model: string; route: string; state: string; node: string; text: string };
export const NO_FILTER: Filter = { kind: "", account: "", model: "", route: "", state: "", node: "", text: "" };

const FIELDS = {
  kind: { label: "Kind", of: (row: ActorRow) => row.kind },
  state: { label: "State", of: (row: ActorRow) => row.state },
  model: { label: "Model", of: (row: ActorRow) => row.model ?? "" },
  route: { label: "Route", of: (row: ActorRow) => row.route ?? "" },
  account: { label: "Account", of: (row: ActorRow) => row.account?.id ?? "" },
  node: { label: "Node", of: (row: ActorRow) => row.node ?? "" },
} as const;
type Name = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as Name[];

const hasText = (row: ActorRow, text: string) =>
  text === "" || row.id.includes(text) || row.name.includes(text) || (row.account?.name.includes(text) ?? false);

/** @param except a field that is ignored, to compute its alternatives. */
export const isWanted = (row: ActorRow, filter: Filter, except?: Name): boolean =>
  hasText(row, filter.text.trim()) &&
  NAMES.every((name) => name === except || filter[name] === "" || FIELDS[name].of(row) === filter[name]);

/** Values of a field among the rows that match the other fields, each with its count. */
const choicesOf = (rows: readonly ActorRow[], filter: Filter, name: Name): [value: string, label: string, count: number][] => {
  const counts = new Map<string, { label: string; count: number }>();
  for (const row of rows) {
    const value = FIELDS[name].of(row);
    if (value === "" || !isWanted(row, filter, name)) continue;
    const known = counts.get(value);
    if (known) known.count += 1;
    else counts.set(value, { label: name === "account" && row.account?.name ? row.account.name : value, count: 1 });
  }
  const chosen = filter[name];
  if (chosen !== "" && !counts.has(chosen)) counts.set(chosen, { label: chosen, count: 0 });
  return [...counts]
    .map(([value, { label, count }]): [string, string, number] => [value, label, count])
    .sort(([a], [b]) => (a < b ? -1 : 1));
};

type Props = { rows: readonly ActorRow[]; filter: Filter; set: (filter: Filter) => void };
export const FilterBar = ({ rows, filter, set }: Props): VNode => (
  <form class="live-filter" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
    {NAMES.filter((name) => name !== "node" || filter.node !== "" || rows.some(({ node }) => node !== undefined)).map((name) => (
      <label key={name}>
        {FIELDS[name].label}{" "}
        <select value={filter[name]} onChange={(event) => set({ ...filter, [name]: (event.target as HTMLSelectElement).value })}>
          <option value="">all</option>
          {choicesOf(rows, filter, name).map(([value, label, count]) => (
            <option key={value} value={value}>
              {label} ({count})
            </option>
          ))}
        </select>
      </label>
    ))}
    <label>
      Find{" "}
      <input
        type="search"
        value={filter.text}
        placeholder="id or name"
        onInput={(event) => set({ ...filter, text: (event.target as HTMLInputElement).value })}
      />
    </label>
    <button type="button" onClick={() => set(NO_FILTER)} disabled={Object.values(filter).every((value) => value === "")}>
      Clear
    </button>
  </form>
);
