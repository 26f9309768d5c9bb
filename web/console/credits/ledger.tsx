// Ledger page: a row for each generation and each other transfer, filters by kind and time, and CSV export.

import { Download, ReceiptText } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import type { LedgerRowsPage } from "../../../src/console/credits-dto.ts";
import { TRANSFER_KINDS } from "../../../src/domain/types.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { dayStartMs, queryOf } from "./amounts.ts";
import { LedgerTable } from "./ledger-table.tsx";

const FILTERS = ["kind", "from", "to"] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** The filters are in the URL, so that a view can be shared. */
const useFilters = (): { filters: Filters; account: string | null; set: (changes: Partial<Filters>) => void } => {
  const query = new URLSearchParams(useSearch());
  const [path, go] = useLocation();
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])) as Filters;
  const account = query.get("account");
  return {
    ...{ filters, account },
    set: (changes) => go(`${path}${queryOf({ account, ...filters, ...changes })}`, { replace: true }),
  };
};

const FilterBar = ({ filters, set, csv }: { filters: Filters; set: (changes: Partial<Filters>) => void; csv: string }): VNode => {
  const { ledger } = words;
  const day = (name: "from" | "to") => (
    <label class="filter-day">
      <span>{ledger[name]}</span>
      <input type="date" value={filters[name]} onChange={({ currentTarget }) => set({ [name]: currentTarget.value })} />
    </label>
  );
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <select aria-label={ledger.kind} value={filters.kind} onChange={({ currentTarget }) => set({ kind: currentTarget.value })}>
        <option value="">{ledger.allKinds}</option>
        {TRANSFER_KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {words.transferKinds[kind]}
          </option>
        ))}
      </select>
      {day("from")}
      {day("to")}
      {FILTERS.some((name) => filters[name] !== "") && (
        <button type="button" class="button is-quiet" onClick={() => set({ kind: "", from: "", to: "" })}>
          {ledger.clear}
        </button>
      )}
      <span class="grows" />
      <a class="button" href={csv} title={ledger.csvAbout} download>
        <Icon of={Download} size={16} />
        {ledger.csv}
      </a>
    </form>
  );
};

const Nothing = ({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }): VNode => {
  const { ledger } = words;
  if (!isFiltered && !hasMore) return <EmptyState icon={ReceiptText} title={ledger.none} about={ledger.noneAbout} />;
  return <p class="empty">{hasMore ? ledger.noMatchYet : ledger.noMatch}</p>;
};

export const LedgerPage = (): VNode => {
  const { ledger } = words;
  const { filters, account, set } = useFilters();
  const [before, setBefore] = useState<number | null>(null);
  const requested = { account, kind: filters.kind, from: dayStartMs(filters.from), to: dayStartMs(filters.to, 1) };
  const { value: page, fault, isBusy } = useQuery<LedgerRowsPage>(`/console/api/ledger${queryOf({ ...requested, before })}`);
  const change = (changes: Partial<Filters>) => {
    setBefore(null);
    set(changes);
  };
  return (
    <div class="credits">
      <p class="muted">{ledger.about}</p>
      <FilterBar filters={filters} set={change} csv={`/console/api/ledger.csv${queryOf(requested)}`} />
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {!page && !fault && <Skeleton lines={8} />}
      <div aria-busy={isBusy && page !== undefined} aria-live="polite">
        {page && page.rows.length > 0 && <LedgerTable rows={page.rows} />}
        {page && page.rows.length === 0 && (
          <Nothing isFiltered={FILTERS.some((name) => filters[name] !== "")} hasMore={page.next !== null} />
        )}
      </div>
      <p class="pages">
        {before !== null && (
          <button type="button" onClick={() => setBefore(null)}>
            {ledger.newest}
          </button>
        )}
        {page !== undefined && page.next !== null && (
          <button type="button" onClick={() => setBefore(page.next)}>
            {ledger.older}
          </button>
        )}
      </p>
    </div>
  );
};
