// Ledger page: transfers with the resulting balance, filters by kind and time, and CSV export.

import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import type { LedgerLine, LedgerPage as Page } from "../../../src/console/credits-dto.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { changeText, dayStartMs, KIND_LABELS, queryOf, usdText } from "./amounts.ts";

const Belongs = ({ line }: { line: LedgerLine }) => {
  if (line.generationId !== null) return <a href={`/console/generations/${line.generationId}`}>{line.generationId}</a>;
  if (line.purchaseId !== null) return <a href={`/console/receipts/${line.purchaseId}`}>{line.note ?? line.purchaseId}</a>;
  return <>{line.note ?? ""}</>;
};

const Lines = ({ lines }: { lines: readonly LedgerLine[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
  <section class="scrolls cards" tabIndex={0} aria-label="Table of transfers">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Kind</th>
          <th scope="col" class="number">
            Amount
          </th>
          <th scope="col" class="number">
            Change
          </th>
          <th scope="col" class="number">
            Balance
          </th>
          <th scope="col" class="number">
            Available
          </th>
          <th scope="col">For</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={line.n}>
            <td data-head="Time">{timeText(line.atMs)}</td>
            <td data-head="Kind">{KIND_LABELS[line.kind]}</td>
            <td data-head="Amount" class="number">
              {usdText(line.credits)}
            </td>
            <td data-head="Change" class="number">
              {changeText(line.changeCredits)}
            </td>
            <td data-head="Balance" class="number">
              {usdText(line.balanceCredits)}
            </td>
            <td data-head="Available" class="number">
              {usdText(line.availableCredits)}
            </td>
            <td data-head="For" class="belongs">
              <Belongs line={line} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

type Filters = { kind: string; from: string; to: string };

const FilterForm = ({ filters, set }: { filters: Filters; set: (filters: Filters) => void }) => (
  <form class="filters" onSubmit={(event) => event.preventDefault()}>
    <label class="field">
      <span>Kind</span>
      <select value={filters.kind} onChange={(event) => set({ ...filters, kind: event.currentTarget.value })}>
        <option value="">All</option>
        {Object.entries(KIND_LABELS).map(([kind, word]) => (
          <option key={kind} value={kind}>
            {word}
          </option>
        ))}
      </select>
    </label>
    <label class="field">
      <span>From</span>
      <input type="date" value={filters.from} onChange={(event) => set({ ...filters, from: event.currentTarget.value })} />
    </label>
    <label class="field">
      <span>To</span>
      <input type="date" value={filters.to} onChange={(event) => set({ ...filters, to: event.currentTarget.value })} />
    </label>
  </form>
);

export const LedgerPage = () => {
  const account = new URLSearchParams(useSearch()).get("account");
  const [filters, setFilters] = useState<Filters>({ kind: "", from: "", to: "" });
  const [before, setBefore] = useState<number | null>(null);
  const requested = { account, kind: filters.kind, from: dayStartMs(filters.from), to: dayStartMs(filters.to, 1) };
  const { value: page, fault, isBusy } = useQuery<Page>(`/console/api/ledger${queryOf({ ...requested, before })}`);
  const set = (next: Filters) => {
    setBefore(null);
    setFilters(next);
  };
  return (
    <div class="credits">
      <p class="muted">
        A hold reserves credits for a generation. A charge takes its price from the hold, and a release returns the rest.
      </p>
      <FilterForm filters={filters} set={set} />
      <p>
        <a href={`/console/api/ledger.csv${queryOf(requested)}`} download>
          Download as CSV
        </a>
      </p>
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <div aria-busy={isBusy} aria-live="polite">
        {page && page.lines.length > 0 && <Lines lines={page.lines} />}
        {page && page.lines.length === 0 && (
          <p class="muted">{page.next === null ? "No transfer matches." : "No match so far. Search further back."}</p>
        )}
      </div>
      <p class="pages">
        {before !== null && (
          <button type="button" onClick={() => setBefore(null)}>
            Newest
          </button>
        )}
        {page?.next !== null && page !== undefined && (
          <button type="button" onClick={() => setBefore(page.next)}>
            Older
          </button>
        )}
      </p>
    </div>
  );
};
