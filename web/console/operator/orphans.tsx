// `/console/operator/orphans`: lists orphans with known facts and recommended action.

import { Unlink } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { OrphanLine, OrphansPage } from "../../../src/console/operator-dto.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { usd } from "../../components/format.ts";
import { Time } from "../../components/time.tsx";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { LabelledField } from "./dialog.tsx";
import { API, Awaited } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";

const SINCE = ["24h", "7d", "30d", "all"] as const;

const columnsOf = (): readonly Column<OrphanLine>[] => {
  const { columns: says, attempt, fates } = operatorWords.orphans;
  return [
    {
      says: says.generation,
      cell: ({ generationId, n, accountId }) => (
        <>
          <a href={`/console/generations/${generationId}`}>{generationId}</a>
          <span class="muted">
            {attempt(n)}, <a href={`/console/operator/accounts/${accountId}`}>{accountId}</a>
          </span>
        </>
      ),
    },
    { says: says.cause, by: ({ fate }) => fate, cell: ({ fate }) => fates[fate] },
    { says: says.price, by: (row) => row.priceCredits, cell: (row) => usd(row.priceCredits), isNumber: true },
    { says: says.sent, by: ({ sentAtMs }) => sentAtMs, cell: ({ sentAtMs }) => <Time atMs={sentAtMs} /> },
    {
      ...{ says: says.job, by: ({ routeId }) => routeId },
      cell: ({ routeId, jobId, ref }) => (
        <>
          {routeId}
          <code>{jobId ?? ref}</code>
        </>
      ),
    },
    {
      says: says.facts,
      cell: ({ known, toDo }) => (
        <>
          {known}
          <span class="muted">{toDo}</span>
        </>
      ),
    },
  ];
};

const Found = ({ of: { count: all, credits, kinds, orphans } }: { of: OrphansPage }): VNode => {
  const says = operatorWords.orphans;
  if (all === 0) return <EmptyState icon={Unlink} title={says.none} about={says.noneAbout} />;
  return (
    <>
      <p class="said" role="status">
        {says.total(all, usd(credits))}
      </p>
      <ul class="plain">
        {kinds.map((kind) => (
          <li key={`${kind.fate} ${kind.known} ${kind.toDo}`} class="card">
            <strong>{says.kind(says.fates[kind.fate], kind.count, usd(kind.credits))}</strong>
            <p>
              {kind.known}: {kind.toDo}.
            </p>
          </li>
        ))}
      </ul>
      <SortedTable
        caption={says.caption}
        columns={columnsOf()}
        rows={orphans}
        keyOf={({ generationId, n }) => `${generationId} ${n}`}
      />
      {orphans.length < all && <p class="muted">{says.more(orphans.length)}</p>}
    </>
  );
};

export const OrphansView = (): VNode => {
  const [since, setSince] = useState<(typeof SINCE)[number]>("7d");
  const page = useQuery<OrphansPage>(`${API}/orphans?since=${since}`);
  const says = operatorWords.orphans;
  return (
    <>
      <p class="muted">{says.about}</p>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <LabelledField says={says.sent}>
          {(id) => (
            <select
              id={id}
              value={since}
              onChange={({ currentTarget }) => setSince(SINCE.find((one) => one === currentTarget.value) ?? "7d")}
            >
              {SINCE.map((value) => (
                <option key={value} value={value}>
                  {says.since[value]}
                </option>
              ))}
            </select>
          )}
        </LabelledField>
      </form>
      <Awaited of={page}>{(value) => <Found of={value} />}</Awaited>
    </>
  );
};
