// `/console/operator/audit`: audit log in sentences, newest first, with filters.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AuditView } from "../../../src/console/users-dto.ts";
import { Time } from "../../components/time.tsx";
import { useQuery } from "../../components/use-query.ts";
import { useSettled } from "../../components/use-settled.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { LabelledField, TextField } from "../operator/dialog.tsx";
import { API, Awaited } from "../operator/page.tsx";
import { describeAuditEntry, type Part } from "./describe-audit-entry.ts";

type Filters = { who: string; action: string; target: string; from: string; to: string };
const EMPTY: Filters = { who: "", action: "", target: "", from: "", to: "" };

/** The kinds of change, in groups. */
const GROUPS = {
  money: [
    ...["credit", "open-purchase", "pay-purchase", "mismatch-purchase", "note-refund", "note-dispute", "decide-reversal"],
    "set-low-balance",
  ],
  accounts: ["create-account", "set-account", "set-end-user-limit"],
  keys: ["create-key", "set-key", "rotate-key", "revoke-key", "note-key-network", "make-console-key"],
  people: [
    ...["invite", "withdraw-invitation", "accept-invitation", "sign-up", "open-session", "end-sessions", "set-user"],
    "note-refused-sign-ins",
  ],
  access: ["note-look", "note-inspector-token"],
  operation: ["switch-route", "set-provider-key", "drop-provider-key", "note-backup", "settle-restored", "decide-generation"],
  data: [
    ...["erase-generation", "expire-files", "mark-attempt", "create-webhook-endpoint", "set-webhook-endpoint"],
    ...["delete-webhook-endpoint", "rotate-webhook-secret"],
  ],
} as const;

/** Days are in the reader's time zone; `to` is inclusive. A kind of principal has a colon before it. */
const queryOf = ({ who, action, target, from, to }: Filters, before: number | null): string => {
  const query = new URLSearchParams();
  const set = (name: string, text: string) => text !== "" && query.set(name, text);
  set(who.startsWith(":") ? "actorKind" : "actor", who.replace(/^:/, ""));
  set("action", action);
  set("target", target.trim());
  if (from !== "") set("fromMs", String(new Date(`${from}T00:00`).getTime()));
  if (to !== "") set("toMs", String(new Date(`${to}T00:00`).getTime() + 86_400_000));
  if (before !== null) set("before", String(before));
  return query.size === 0 ? "" : `?${query}`;
};

const PartOf = ({ of: { text, href, isName } }: { of: Part }): VNode => {
  if (href !== undefined) return <a href={href}>{text}</a>;
  return isName ? <strong>{text}</strong> : <span>{text}</span>;
};

const Entry = ({ line, names }: { line: AuditView["lines"][number] } & Pick<AuditView, "names">): VNode => {
  const { sentence, details } = describeAuditEntry(line, names);
  return (
    <li class="audit-line" data-action={line.action}>
      <Time atMs={line.atMs} />
      <p>
        {sentence.map((part, n) => (
          <PartOf key={n} of={part} />
        ))}
      </p>
      {details.length > 0 && (
        <details>
          <summary>{operatorWords.audit.more(details.length)}</summary>
          <dl class="audit-details">
            {details.map(({ name, text }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
};

type FormProps = { filters: Filters; set: (change: Partial<Filters>) => void; users: AuditView["users"] };
const FilterForm = ({ filters, set, users }: FormProps): VNode => {
  const { audit } = operatorWords;
  return (
    <form class="filters audit-filters" onSubmit={(event) => event.preventDefault()}>
      <LabelledField says={audit.who}>
        {(id) => (
          <select id={id} value={filters.who} onChange={({ currentTarget }) => set({ who: currentTarget.value })}>
            <option value="">{audit.anyone}</option>
            {users.map((user) => (
              <option key={user.id} value={user.id}>
                {user.name} ({user.email})
              </option>
            ))}
            <option value=":command">{audit.commands}</option>
            <option value=":service">{audit.service}</option>
          </select>
        )}
      </LabelledField>
      <LabelledField says={audit.kind}>
        {(id) => (
          <select id={id} value={filters.action} onChange={({ currentTarget }) => set({ action: currentTarget.value })}>
            <option value="">{audit.anything}</option>
            {Object.entries(GROUPS).map(([group, kinds]) => (
              <optgroup key={group} label={audit.groups[group as keyof typeof GROUPS]}>
                {kinds.map((kind) => (
                  <option key={kind} value={kind}>
                    {audit.kinds[kind as keyof typeof audit.kinds]}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        )}
      </LabelledField>
      <TextField says={audit.target} value={filters.target} set={(target) => set({ target })} />
      {(["from", "to"] as const).map((name) => (
        <LabelledField key={name} says={audit[name]}>
          {(id) => (
            <input
              id={id}
              type="date"
              value={filters[name]}
              onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
            />
          )}
        </LabelledField>
      ))}
    </form>
  );
};

export const AuditPage = (): VNode => {
  const [filters, setFilters] = useState(EMPTY);
  const [before, setBefore] = useState<number | null>(null);
  const target = useSettled(filters.target);
  const page = useQuery<AuditView>(`${API}/audit${queryOf({ ...filters, target }, before)}`);
  const { audit, operator } = operatorWords;
  const set = (change: Partial<Filters>) => {
    setBefore(null);
    setFilters({ ...filters, ...change });
  };
  return (
    <>
      <p class="muted">{audit.about}</p>
      <FilterForm filters={filters} set={set} users={page.value?.users ?? []} />
      <Awaited of={page}>
        {({ lines, names, before: next }) => (
          <div aria-live="polite">
            {lines.length === 0 ? (
              <p class="empty">{audit.none}</p>
            ) : (
              <ol class="audit-lines">
                {lines.map((line) => (
                  <Entry key={line.seq} line={line} names={names} />
                ))}
              </ol>
            )}
            <p class="pages">
              {before !== null && (
                <button type="button" class="button" onClick={() => setBefore(null)}>
                  {operator.newest}
                </button>
              )}
              {next !== null && (
                <button type="button" class="button" onClick={() => setBefore(next)}>
                  {operator.older}
                </button>
              )}
            </p>
          </div>
        )}
      </Awaited>
    </>
  );
};
