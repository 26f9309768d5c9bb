// Filters of the list of generations, stored in the URL for sharing a view.
import type { VNode } from "preact";
import { useLocation, useSearch } from "wouter-preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import type { KeysPage, KeyView } from "../../../src/console/keys-dto.ts";
import { me } from "../../components/api.ts";
import { useQuery } from "../../components/use-query.ts";
import { dayStartMs } from "../credits/amounts.ts";

export const FILTERS = ["status", "kind", "model", "from", "to", "key", "account", "view"] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Record<FilterName, string>>;

export const useFilters = (): [Filters, (name: FilterName, value: string) => void] => {
  const query = new URLSearchParams(useSearch());
  const [path, go] = useLocation();
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])) as Filters;
  const set = (name: FilterName, value: string) => {
    const next = new URLSearchParams(query);
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
  for (const name of ["status", "kind", "model", "key", "account"] as const)
    if (filters[name] !== "") query.set(name, filters[name]);
  const [fromMs, toMs] = [dayStartMs(filters.from), dayStartMs(filters.to, 1)];
  if (fromMs !== null) query.set("from", String(fromMs));
  if (toMs !== null) query.set("to", String(toMs));
  if (before !== null) query.set("before", before);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
};

const CHOICES = {
  status: ["queued", "running", "succeeded", "failed"],
  kind: ["image", "video", "audio"],
} as const;

/** Keys without a name or with the same name are distinguished by their prefix. */
const keyText = ({ name, start, state }: KeyView): string =>
  `${name || "Unnamed"} (${start}…${state === "active" ? "" : `, ${state}`})`;

/** The keys of the viewed account, including expired and revoked ones; none if all accounts are viewed. */
const useKeyChoices = ({ account, key }: Filters): (readonly [string, string])[] => {
  const named = account === "" ? me.value?.signedIn?.accountId : account;
  const isOne = typeof named === "string" && named !== "*";
  const { value } = useQuery<KeysPage>(isOne ? `/console/api/keys?account=${encodeURIComponent(named)}` : null);
  const known = (isOne && value?.keys.map((one) => [one.id, keyText(one)] as const)) || [];
  const choices = [["playground", "Playground"] as const, ...known];
  return key === "" || choices.some(([id]) => id === key) ? choices : [...choices, [key, key]];
};

type Props = { filters: Filters; set: (name: FilterName, value: string) => void; models: readonly ModelEntry[] };

export const FilterBar = ({ filters, set, models }: Props): VNode => {
  const keys = useKeyChoices(filters);
  const choice = (name: "status" | "kind" | "model" | "key", says: string, values: readonly (readonly [string, string])[]) => (
    <label class="field">
      <span>{says}</span>
      <select value={filters[name]} onChange={({ currentTarget }) => set(name, currentTarget.value)}>
        <option value="">All</option>
        {values.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const day = (name: "from" | "to", says: string) => (
    <label class="field">
      <span>{says}</span>
      <input type="date" value={filters[name]} onChange={({ currentTarget }) => set(name, currentTarget.value)} />
    </label>
  );
  const named = (values: readonly string[]) =>
    values.map((value) => [value, value.charAt(0).toUpperCase() + value.slice(1)] as const);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {choice("status", "Status", named(CHOICES.status))}
      {choice("kind", "Kind", named(CHOICES.kind))}
      {choice(
        "model",
        "Model",
        models.map(({ id, name }) => [id, name] as const),
      )}
      {choice("key", "Key", keys)}
      {day("from", "From")}
      {day("to", "To")}
      <fieldset class="segments view">
        <legend class="unseen">View</legend>
        {(["gallery", "list"] as const).map((view) => (
          <label key={view} class="segment">
            <input
              type="radio"
              name="view"
              checked={(filters.view || "gallery") === view}
              onChange={() => set("view", view === "gallery" ? "" : view)}
            />
            <span>{view === "gallery" ? "Gallery" : "List"}</span>
          </label>
        ))}
      </fieldset>
    </form>
  );
};
