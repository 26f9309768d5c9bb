// Filters of the list of generations, stored in the URL for sharing a view.
import { SlidersHorizontal } from "lucide";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import type { KeysPage, KeyView } from "../../../src/console/keys-dto.ts";
import { me } from "../../components/api.ts";
import { Menu } from "../../components/menu.tsx";
import { useQuery } from "../../components/use-query.ts";
import { ViewSwitch } from "../../components/view-switch.tsx";
import { words } from "../../words/console-words.ts";
import { dayStartMs } from "../credits/amounts.ts";

export const FILTERS = ["q", "status", "kind", "model", "from", "to", "key", "end_user", "account", "view"] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Record<FilterName, string>>;
type SetFilters = (changes: Partial<Filters>) => void;

/** Filters that leave some generations out. */
export const LIMITING = ["q", "status", "kind", "model", "from", "to", "key", "end_user"] as const;
export const isFiltered = (filters: Filters): boolean => LIMITING.some((name) => filters[name] !== "");

export const useFilters = (): [Filters, SetFilters] => {
  const query = new URLSearchParams(useSearch());
  const [path, go] = useLocation();
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])) as Filters;
  const set: SetFilters = (changes) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes))
      if (value === "") next.delete(name);
      else next.set(name, value);
    const text = next.toString();
    go(text === "" ? path : `${path}?${text}`, { replace: true });
  };
  return [filters, set];
};

/** Query of the API. Days are in the reader's time zone. */
export const queryOf = (filters: Filters, before: string | null): string => {
  const query = new URLSearchParams();
  for (const name of ["q", "status", "kind", "model", "key", "end_user", "account"] as const)
    if (filters[name] !== "") query.set(name, filters[name]);
  const [fromMs, toMs] = [dayStartMs(filters.from), dayStartMs(filters.to, 1)];
  if (fromMs !== null) query.set("from", String(fromMs));
  if (toMs !== null) query.set("to", String(toMs));
  if (before !== null) query.set("before", before);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
};

const STATUSES = ["queued", "running", "succeeded", "failed"] as const;
const KINDS = ["image", "video", "audio"] as const;

/** Keys without a name or with the same name are distinguished by their prefix. */
const keyText = ({ name, start, state }: KeyView): string =>
  `${name || words.generations.unnamedKey} (${start}…${state === "active" ? "" : `, ${state}`})`;

/** The keys of the viewed account, including expired and revoked ones; none if all accounts are viewed. */
const useKeyChoices = ({ account, key }: Filters): (readonly [string, string])[] => {
  const named = account === "" ? me.value?.signedIn?.accountId : account;
  const isOne = typeof named === "string" && named !== "*";
  const { value } = useQuery<KeysPage>(isOne ? `/console/api/keys?account=${encodeURIComponent(named)}` : null);
  const known = (isOne && value?.keys.map((one) => [one.id, keyText(one)] as const)) || [];
  const choices = [["playground", words.pages.playground] as const, ...known];
  return key === "" || choices.some(([id]) => id === key) ? choices : [...choices, [key, key]];
};

/** `2026-11-30`, a day of the reader's time zone so many days ago. */
const dayAgo = (days: number): string => {
  const at = new Date();
  at.setDate(at.getDate() - days);
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
};
const PRESETS = [
  ["today", 0],
  ["week", 6],
  ["month", 29],
] as const;

type Choices = readonly (readonly [value: string, text: string])[];
const Choice = (of: { label: string; any: string; value: string; values: Choices; set: (value: string) => void }): VNode => (
  <select aria-label={of.label} value={of.value} onChange={({ currentTarget }) => of.set(currentTarget.value)}>
    <option value="">{of.any}</option>
    {of.values.map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))}
  </select>
);

const SEARCH_MS = 300;
/** The text is searched for shortly after the last key. */
const Search = ({ value, set }: { value: string; set: (value: string) => void }): VNode => {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => set(text.trim()), SEARCH_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      class="filter-search"
      aria-label={words.generations.search}
      placeholder={words.generations.search}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
};

type Props = { filters: Filters; set: SetFilters; models: readonly ModelEntry[] };

const MoreFilters = ({ filters, set, models }: Props): VNode => {
  const { generations } = words;
  const keys = useKeyChoices(filters);
  const day = (name: "from" | "to") => (
    <label class="field">
      <span>{generations[name]}</span>
      <input type="date" value={filters[name]} onChange={({ currentTarget }) => set({ [name]: currentTarget.value })} />
    </label>
  );
  return (
    <div class="more-filters">
      <div class="field">
        <span>{generations.model}</span>
        <Choice
          label={generations.model}
          any={generations.all}
          value={filters.model}
          values={models.map(({ id, name }) => [id, name] as const)}
          set={(model) => set({ model })}
        />
      </div>
      <div class="field">
        <span>{generations.key}</span>
        <Choice label={generations.key} any={generations.all} value={filters.key} values={keys} set={(key) => set({ key })} />
      </div>
      <label class="field">
        <span>{words.generation.endUser}</span>
        <input
          type="text"
          autocomplete="off"
          value={filters.end_user}
          onChange={({ currentTarget }) => set({ end_user: currentTarget.value.trim() })}
        />
      </label>
      <div class="days">
        {day("from")}
        {day("to")}
      </div>
      <div class="segments">
        {PRESETS.map(([name, days]) => (
          <button key={name} type="button" class="button is-small" onClick={() => set({ from: dayAgo(days), to: "" })}>
            {generations[name]}
          </button>
        ))}
      </div>
    </div>
  );
};

export const FilterBar = ({ filters, set, models }: Props): VNode => {
  const { generations } = words;
  const further = (["model", "key", "end_user", "from", "to"] as const).filter((name) => filters[name] !== "").length;
  const none = Object.fromEntries(LIMITING.map((name) => [name, ""]));
  return (
    <form class="filters" aria-label={generations.filters} onSubmit={(event) => event.preventDefault()}>
      <Search value={filters.q} set={(q) => set({ q })} />
      <Choice
        label={generations.status}
        any={generations.anyStatus}
        value={filters.status}
        values={STATUSES.map((status) => [status, words.status[status]] as const)}
        set={(status) => set({ status })}
      />
      <Choice
        label={generations.kind}
        any={generations.anyKind}
        value={filters.kind}
        values={KINDS.map((kind) => [kind, words.model.kinds[kind]] as const)}
        set={(kind) => set({ kind })}
      />
      <Menu label={further > 0 ? `${generations.more} (${further})` : generations.more} icon={SlidersHorizontal} isLabelled>
        <MoreFilters filters={filters} set={set} models={models} />
      </Menu>
      {isFiltered(filters) && (
        <button type="button" class="button is-quiet" onClick={() => set(none)}>
          {generations.clear}
        </button>
      )}
      <span class="grows" />
      <ViewSwitch
        view={filters.view === "list" ? "list" : "gallery"}
        set={(view) => set({ view: view === "gallery" ? "" : view })}
      />
    </form>
  );
};
