// `/console/operator/audit`: audit log, newest first, with filters.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AuditView } from "../../../src/console/users-dto.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { actionOf, describeAuditEntry, howOf } from "./describe-audit-entry.ts";
import { Fault } from "./form.tsx";

type Filters = { actor: string; action: string; target: string; from: string; to: string };
const EMPTY: Filters = { actor: "", action: "", target: "", from: "", to: "" };
const TEXTS = { actor: "Who", action: "Change", target: "Object" } as const;

/** Days are in the reader's time zone; `to` is inclusive. */
const queryOf = ({ actor, action, target, from, to }: Filters, before: number | null): string => {
  const query = new URLSearchParams();
  for (const [name, text] of Object.entries({ actor, action: actionOf(action), target }))
    if (text.trim() !== "") query.set(name, text.trim());
  if (from !== "") query.set("fromMs", String(new Date(`${from}T00:00`).getTime()));
  if (to !== "") query.set("toMs", String(new Date(`${to}T00:00`).getTime() + 86_400_000));
  if (before !== null) query.set("before", String(before));
  return query.size === 0 ? "" : `?${query}`;
};

const Lines = ({ lines }: Pick<AuditView, "lines">): VNode => (
  <div class="cards">
    <table>
      <thead>
        <tr>
          {["Time", "Who", "Change", "Object", "How"].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map(({ seq, atMs, actor, action, target, detail }) => (
          <tr key={seq}>
            <td data-head="Time">{timeText(atMs)}</td>
            <td data-head="Who">
              {actor.kind === "user" ? actor.name : `${actor.name} (${actor.kind === "command" ? "command line" : "service"})`}
            </td>
            <td data-head="Change">{describeAuditEntry(action)}</td>
            <td data-head="Object">
              <code>{target ?? "–"}</code>
            </td>
            <td data-head="How">{howOf({ action, detail })}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

export const AuditPage = (): VNode => {
  const [filters, setFilters] = useState(EMPTY);
  const [before, setBefore] = useState<number | null>(null);
  const { value, fault, isBusy } = useQuery<AuditView>(`/console/api/operator/audit${queryOf(filters, before)}`);
  const set = (change: Partial<Filters>) => {
    setBefore(null);
    setFilters({ ...filters, ...change });
  };
  return (
    <>
      <p>
        Lists every change by the console or the command line, every access to data of another account, and every payment event of
        Stripe. Entries are never changed or deleted.
      </p>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {(["actor", "action", "target"] as const).map((name) => (
          <label key={name} class="field">
            <span>{TEXTS[name]}</span>
            <input value={filters[name]} onChange={(event) => set({ [name]: event.currentTarget.value })} />
          </label>
        ))}
        {(["from", "to"] as const).map((name) => (
          <label key={name} class="field">
            <span>{name === "from" ? "From" : "To"}</span>
            <input type="date" value={filters[name]} onChange={(event) => set({ [name]: event.currentTarget.value })} />
          </label>
        ))}
      </form>
      <Fault says={fault} />
      <div aria-busy={isBusy} aria-live="polite">
        {value && value.lines.length > 0 && <Lines lines={value.lines} />}
        {value && value.lines.length === 0 && <p class="empty">No entry matches.</p>}
      </div>
      <div class="pages">
        {before !== null && (
          <button type="button" class="button" onClick={() => setBefore(null)}>
            Newest
          </button>
        )}
        {value?.before != null && (
          <button type="button" class="button" onClick={() => setBefore(value.before)}>
            Older
          </button>
        )}
      </div>
    </>
  );
};
