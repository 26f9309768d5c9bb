// Parked generations with the three ways out, and the dialog for the decision.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { usd } from "../../components/format.ts";
import { Time } from "../../components/time.tsx";
import { operatorWords } from "../../words/operator-words.ts";
import { Deciding, type Parked } from "./decision.tsx";
import { mayChange, PageMessage } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";

const columnsOf = (open: (row: Parked) => void): readonly Column<Parked>[] => {
  const { parked } = operatorWords;
  const { columns } = parked;
  const shown: Column<Parked>[] = [
    { says: columns.generation, cell: ({ id }) => <a href={`/console/generations/${id}`}>{id}</a> },
    { says: columns.account, cell: ({ accountId: id }) => <a href={`/console/operator/accounts/${id}`}>{id}</a> },
    { says: columns.model, by: ({ model }) => model, cell: ({ model }) => model },
    { says: columns.held, by: (row) => row.reservedCredits, cell: (row) => usd(row.reservedCredits), isNumber: true },
    { says: columns.parked, by: ({ parkedAtMs }) => parkedAtMs, cell: ({ parkedAtMs }) => <Time atMs={parkedAtMs} /> },
    { says: columns.reason, cell: ({ reason }) => reason },
  ];
  if (mayChange())
    shown.push({
      says: columns.decision,
      cell: (row) => (
        <button type="button" class="button is-small" aria-label={parked.decideOf(row.id)} onClick={() => open(row)}>
          {parked.decide}
        </button>
      ),
    });
  return shown;
};

const Ways = (): VNode => {
  const { parked } = operatorWords;
  return (
    <dl class="ways-out">
      {[
        [parked.retry, parked.retryAbout],
        [parked.settle, parked.settleAbout],
        [parked.fail, parked.failAbout],
      ].map(([name, about]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{about}</dd>
        </div>
      ))}
    </dl>
  );
};

export const ParkedGenerations = ({ rows, again }: { rows: readonly Parked[]; again: () => void }): VNode => {
  const [open, setOpen] = useState<Parked | null>(null);
  const [text, setSaid] = useState("");
  const { parked } = operatorWords;
  return (
    <section id="parked">
      <h2>{parked.heading}</h2>
      <p class="muted">{parked.about}</p>
      <PageMessage text={text} />
      {rows.length === 0 ? (
        <p>{parked.none}</p>
      ) : (
        <>
          <Ways />
          <SortedTable caption={parked.heading} columns={columnsOf(setOpen)} rows={rows} keyOf={({ id }) => id} />
        </>
      )}
      {open !== null && (
        <Deciding
          of={open}
          close={() => setOpen(null)}
          done={(reported) => {
            setOpen(null);
            setSaid(reported);
            again();
          }}
        />
      )}
    </section>
  );
};
