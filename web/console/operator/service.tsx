// `/console/operator/service`: readiness, parked generations and age of the last backup.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ServiceView } from "../../../src/console/operator-dto.ts";
import { timeText, usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { Deciding, type Parked } from "./decision.tsx";
import { relativeAge } from "./format.ts";
import { Nodes } from "./nodes.tsx";
import { API, Awaited, mayChange, PageMessage } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";

const backupText = ({ backup: { isNightly, lastMs } }: ServiceView): string => {
  if (!isNightly) return "disabled; set backup.dir to enable backups";
  return lastMs === null ? "none verified yet" : `${timeText(lastMs)}, ${relativeAge(lastMs)}`;
};

const restoredText = ({ restored }: ServiceView): string => {
  if (restored === null) return "no";
  const taken = `yes, as of ${timeText(restored.takenAtMs)}`;
  return restored.open
    ? `${taken}; in-flight attempts are confirmed with their provider before anything is submitted`
    : `${taken}; all attempts that were in flight have ended${restored.settled ? ", and an operator has checked the work after the backup" : ""}`;
};

const PARKED: readonly Column<Parked>[] = [
  { says: "Generation", cell: ({ id }) => <a href={`/console/generations/${id}`}>{id}</a> },
  { says: "Account", cell: ({ accountId: id }) => <a href={`/console/operator/accounts/${id}`}>{id}</a> },
  { says: "Model", by: ({ model }) => model, cell: ({ model }) => model },
  { says: "Held", by: (row) => row.reservedCredits, cell: (row) => usd(row.reservedCredits), isNumber: true },
  { says: "Parked", by: ({ parkedAtMs }) => parkedAtMs, cell: ({ parkedAtMs }) => timeText(parkedAtMs) },
  { says: "Reason", cell: ({ reason }) => reason },
];

/** Parked generations with the dialog for their decision. */
const ParkedGenerations = ({ rows, again }: { rows: readonly Parked[]; again: () => void }): VNode => {
  const [open, setOpen] = useState<Parked | null>(null);
  const [text, setSaid] = useState("");
  const decides: Column<Parked> = {
    says: "Decision",
    cell: (row) => (
      <button type="button" class="button" aria-label={`Decide ${row.id}`} onClick={() => setOpen(row)}>
        Decide
      </button>
    ),
  };
  return (
    <>
      <PageMessage text={text} />
      {rows.length === 0 ? (
        <p class="empty">No generation waits for an operator.</p>
      ) : (
        <SortedTable
          caption="Parked generations"
          columns={mayChange() ? [...PARKED, decides] : PARKED}
          rows={rows}
          keyOf={({ id }) => id}
        />
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
    </>
  );
};

const Facts = ({ of }: { of: ServiceView }): VNode => {
  const facts: readonly (readonly [string, string])[] = [
    ["Version", of.version],
    ["Mode", of.mode === "test" ? "simulator: no provider is called and nothing is billed" : "live"],
    ["Address", of.url],
    ["Started", `${timeText(of.startedAtMs)}, ${relativeAge(of.startedAtMs)}`],
    ["Running", String(of.running)],
    ["Queued", String(of.queued)],
    ["Last backup", backupText(of)],
    ["Restored from a backup", restoredText(of)],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
};

export const ServicePage = (): VNode => {
  const page = useQuery<ServiceView>(`${API}/service`);
  return (
    <Awaited of={page}>
      {(service) => (
        <>
          <div role="status">
            {service.ready ? (
              <p class="notice">The service accepts submissions.</p>
            ) : (
              <ul class="notice is-bad">
                {service.faults.map((fault) => (
                  <li key={fault}>{fault}</li>
                ))}
              </ul>
            )}
            {service.warnings.map((warning) => (
              <p class="notice is-bad" key={warning}>
                {warning.charAt(0).toUpperCase() + warning.slice(1)}.
              </p>
            ))}
          </div>
          <p>
            <button type="button" class="button" onClick={page.again}>
              Reload
            </button>
          </p>
          <Facts of={service} />
          {service.nodes === null ? null : <Nodes nodes={service.nodes} />}
          <h2>Parked generations</h2>
          <ParkedGenerations rows={service.parked} again={page.again} />
        </>
      )}
    </Awaited>
  );
};
