// `/console/operator/orphans`: lists orphans with known facts and recommended action.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { OrphanLine, OrphansPage } from "../../../src/console/operator-dto.ts";
import { usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { LabelledField } from "./dialog.tsx";
import { count, relativeAge } from "./format.ts";
import { API, Awaited } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";

const SINCE = [
  ["24h", "the last 24 hours"],
  ["7d", "the last 7 days"],
  ["30d", "the last 30 days"],
  ["all", "all time"],
] as const;

const COLUMNS: readonly Column<OrphanLine>[] = [
  {
    says: "Generation",
    cell: ({ generationId, n, accountId }) => (
      <>
        <a href={`/console/generations/${generationId}`}>{generationId}</a>
        <span class="muted">
          attempt {n}, <a href={`/console/operator/accounts/${accountId}`}>{accountId}</a>
        </span>
      </>
    ),
  },
  { says: "Cause", by: ({ fate }) => fate, cell: ({ fate }) => fate },
  { says: "Price", by: (row) => row.priceCredits, cell: (row) => usd(row.priceCredits), isNumber: true },
  { says: "Sent", by: ({ sentAtMs }) => sentAtMs, cell: ({ sentAtMs }) => relativeAge(sentAtMs) },
  {
    says: "Route and job",
    by: ({ routeId }) => routeId,
    cell: ({ routeId, jobId, ref }) => (
      <>
        {routeId}
        <code>{jobId ?? ref}</code>
      </>
    ),
  },
  {
    says: "Facts and remedy",
    cell: ({ known, toDo }) => (
      <>
        {known}
        <span class="muted">{toDo}</span>
      </>
    ),
  },
];

export const OrphansView = (): VNode => {
  const [since, setSince] = useState("7d");
  const page = useQuery<OrphansPage>(`${API}/orphans?since=${since}`);
  return (
    <>
      <p class="muted">Attempts that a provider may have billed but no customer was charged for.</p>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <LabelledField says="Sent in">
          {(id) => (
            <select id={id} value={since} onChange={({ currentTarget }) => setSince(currentTarget.value)}>
              {SINCE.map(([value, says]) => (
                <option key={value} value={value}>
                  {says}
                </option>
              ))}
            </select>
          )}
        </LabelledField>
      </form>
      <Awaited of={page}>
        {({ count: all, credits, kinds, orphans }) => (
          <>
            <p class="said" role="status">
              {all === 0
                ? "No orphans."
                : `${count(all, "orphan")}, a loss of at most ${usd(credits)} at the prices of their routes.`}
            </p>
            {kinds.length > 0 && (
              <ul class="plain">
                {kinds.map((kind) => (
                  <li key={`${kind.fate} ${kind.known} ${kind.toDo}`} class="card">
                    <strong>
                      {kind.count} {kind.fate}, {usd(kind.credits)}
                    </strong>
                    <p>
                      {kind.known}: {kind.toDo}.
                    </p>
                  </li>
                ))}
              </ul>
            )}
            {orphans.length > 0 && (
              <SortedTable
                caption="Orphans"
                columns={COLUMNS}
                rows={orphans}
                keyOf={({ generationId, n }) => `${generationId} ${n}`}
              />
            )}
            {orphans.length < all && <p class="muted">Shows the newest {orphans.length}. genrouter orphans --json lists all.</p>}
          </>
        )}
      </Awaited>
    </>
  );
};
