// `/console/operator/accounts`: searches, filters and creates accounts.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { AccountLine, AccountStatus, AccountsPage, AccountView } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { timeText, usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { DialogState, LabelledField, TextField } from "./dialog.tsx";
import { creditsIn, newReference } from "./format.ts";
import { API, Awaited, mayChange } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";
import { UndecidedOfAll } from "./undecided.tsx";

const STANDINGS: Readonly<Record<AccountStatus, string>> = {
  all: "All",
  busy: "With generations in progress",
  paused: "Paused",
  owing: "Owing",
};

const Status = ({ of }: { of: AccountLine }): VNode => (
  <>
    {of.paused ? <span class="status is-paused">paused</span> : <span class="status is-active">active</span>}
    {of.owedCredits > 0 && <span class="status is-bad">owes {usd(of.owedCredits)}</span>}
  </>
);

const COLUMNS: readonly Column<AccountLine>[] = [
  {
    says: "Account",
    by: ({ name }) => name,
    cell: ({ id, name }) => (
      <>
        <a href={`/console/operator/accounts/${id}`}>{name || "Unnamed"}</a> <code>{id}</code>
      </>
    ),
  },
  { says: "Status", by: ({ paused }) => Number(paused), cell: (row) => <Status of={row} /> },
  { says: "Balance", by: (row) => row.balanceCredits, cell: (row) => usd(row.balanceCredits), isNumber: true },
  { says: "Held", by: (row) => row.heldCredits, cell: (row) => usd(row.heldCredits), isNumber: true },
  { says: "Available", by: (row) => row.availableCredits, cell: (row) => usd(row.availableCredits), isNumber: true },
  { says: "In progress", by: (row) => row.inProgress, cell: (row) => row.inProgress, isNumber: true },
  { says: "Created", by: (row) => row.createdAtMs, cell: (row) => timeText(row.createdAtMs) },
];

const NewAccount = ({ close }: { close: () => void }): VNode => {
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const [credits, setCredits] = useState("");
  const reference = useRef(newReference());
  const run = async () => {
    if (name.trim() === "") return "Enter a name.";
    const first = credits.trim() === "" ? 0 : creditsIn(credits);
    if (typeof first === "string") return `Initial credits: ${first}`;
    const body = { reference: reference.current, name: name.trim(), creditCredits: first };
    const { id } = await call<AccountView>("POST", `${API}/accounts`, body);
    go(`/console/operator/accounts/${id}`);
    return undefined;
  };
  return (
    <DialogState title="New account" does="Create account" close={close} run={run}>
      <TextField
        says="Name"
        value={name}
        set={setName}
        maxLength={200}
        about="The owner of the account. Only operators can read it."
      />
      <TextField
        says="Initial credits in USD"
        value={credits}
        set={setCredits}
        inputMode="decimal"
        about="Granted immediately. Leave it empty to grant none. Create a key on the page API keys of the account."
      />
    </DialogState>
  );
};

/** The text after a pause in typing. */
const useSettled = (text: string): string => {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};

export const AccountsView = (): VNode => {
  const [text, setText] = useState("");
  const [standing, setStanding] = useState("all");
  const [before, setBefore] = useState<number | null>(null);
  const [isNew, setNew] = useState(false);
  const query = new URLSearchParams({ text: useSettled(text), standing, ...(before === null ? {} : { before: String(before) }) });
  const page = useQuery<AccountsPage>(`${API}/accounts?${query}`);
  return (
    <>
      <div class="page-head">
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <TextField
            says="Search by name or id"
            inputMode="search"
            value={text}
            maxLength={100}
            set={(value) => {
              setText(value);
              setBefore(null);
            }}
          />
          <LabelledField says="Show">
            {(id) => (
              <select
                id={id}
                value={standing}
                onChange={({ currentTarget }) => {
                  setStanding(currentTarget.value);
                  setBefore(null);
                }}
              >
                {Object.entries(STANDINGS).map(([one, says]) => (
                  <option key={one} value={one}>
                    {says}
                  </option>
                ))}
              </select>
            )}
          </LabelledField>
        </form>
        {mayChange() && (
          <button type="button" class="button is-main" onClick={() => setNew(true)}>
            New account
          </button>
        )}
      </div>
      <Awaited of={page}>
        {({ accounts, next, undecided }) => (
          <>
            <UndecidedOfAll undecided={undecided} />
            <p class="said" role="status">
              {accounts.length === 0
                ? "No account matches."
                : `${accounts.length}${next === null ? "" : " and more"} shown, newest first.`}
            </p>
            {accounts.length > 0 && <SortedTable caption="Accounts" columns={COLUMNS} rows={accounts} keyOf={({ id }) => id} />}
            <p class="pages">
              {before !== null && (
                <button type="button" class="button" onClick={() => setBefore(null)}>
                  Newest
                </button>
              )}
              {next !== null && (
                <button type="button" class="button" onClick={() => setBefore(next)}>
                  Older
                </button>
              )}
            </p>
          </>
        )}
      </Awaited>
      {isNew && <NewAccount close={() => setNew(false)} />}
    </>
  );
};
