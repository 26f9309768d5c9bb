// `/console/operator/accounts`: searches, filters and creates accounts.

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { AccountLine, AccountsPage, AccountView } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { Time } from "../../components/time.tsx";
import { useQuery } from "../../components/use-query.ts";
import { useSettled } from "../../components/use-settled.ts";
import { words } from "../../words/console-words.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { DialogState, LabelledField, TextField } from "./dialog.tsx";
import { creditsIn, newReference, number } from "./format.ts";
import { API, Awaited, mayChange } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";
import { UndecidedOfAll } from "./undecided.tsx";

export const AccountStatus = ({ paused }: Pick<AccountLine, "paused">): VNode => (
  <span class={`status ${paused ? "is-paused" : "is-active"}`}>
    {paused ? operatorWords.accounts.paused : operatorWords.accounts.active}
  </span>
);

const Status = ({ of }: { of: AccountLine }): VNode => (
  <>
    <AccountStatus paused={of.paused} />{" "}
    {of.owedCredits > 0 && <span class="status is-bad">{operatorWords.accounts.debt(usd(of.owedCredits))}</span>}
  </>
);

const columnsOf = (): readonly Column<AccountLine>[] => {
  const { columns: says } = operatorWords.accounts;
  const credits = (name: string, of: (row: AccountLine) => number): Column<AccountLine> => ({
    ...{ says: name, by: of, isNumber: true, cell: (row) => usd(of(row)) },
  });
  return [
    {
      ...{ says: says.account, by: ({ name }) => name },
      cell: ({ id, name }) => (
        <>
          <a href={`/console/operator/accounts/${id}`}>{name || operatorWords.operator.unnamed}</a> <code>{id}</code>
        </>
      ),
    },
    { says: says.status, by: ({ paused }) => Number(paused), cell: (row) => <Status of={row} /> },
    credits(says.balance, (row) => row.balanceCredits),
    credits(says.held, (row) => row.heldCredits),
    credits(says.available, (row) => row.availableCredits),
    { says: says.inProgress, by: (row) => row.inProgress, cell: (row) => number(row.inProgress), isNumber: true },
    { says: says.created, by: (row) => row.createdAtMs, cell: (row) => <Time atMs={row.createdAtMs} /> },
  ];
};

const NewAccount = ({ close }: { close: () => void }): VNode => {
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const [credits, setCredits] = useState("");
  const reference = useRef(newReference());
  const says = operatorWords.accounts;
  const run = async () => {
    if (name.trim() === "") return says.nameFault;
    const first = credits.trim() === "" ? 0 : creditsIn(credits);
    if (typeof first === "string") return says.initialFault(first);
    const body = { reference: reference.current, name: name.trim(), creditCredits: first };
    const { id } = await call<AccountView>("POST", `${API}/accounts`, body);
    go(`/console/operator/accounts/${id}`);
    return undefined;
  };
  return (
    <DialogState title={says.create} does={says.createSubmit} close={close} run={run}>
      <TextField says={says.name} isRequired value={name} set={setName} maxLength={200} about={says.nameAbout} />
      <TextField says={says.initial} value={credits} set={setCredits} inputMode="decimal" about={says.initialAbout} />
    </DialogState>
  );
};

export const AccountsView = (): VNode => {
  const [text, setText] = useState("");
  const [standing, setStanding] = useState("all");
  const [before, setBefore] = useState<number | null>(null);
  const [isNew, setNew] = useState(false);
  const query = new URLSearchParams({ text: useSettled(text), standing, ...(before === null ? {} : { before: String(before) }) });
  const page = useQuery<AccountsPage>(`${API}/accounts?${query}`);
  const { accounts: says, operator } = operatorWords;
  return (
    <>
      <div class="page-head">
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <TextField
            says={says.search}
            inputMode="search"
            value={text}
            maxLength={100}
            set={(value) => {
              setText(value);
              setBefore(null);
            }}
          />
          <LabelledField says={says.show}>
            {(id) => (
              <select
                id={id}
                value={standing}
                onChange={({ currentTarget }) => {
                  setStanding(currentTarget.value);
                  setBefore(null);
                }}
              >
                {Object.entries(says.statuses).map(([one, name]) => (
                  <option key={one} value={one}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </LabelledField>
        </form>
        {mayChange() && (
          <button type="button" class="button is-main" onClick={() => setNew(true)}>
            {says.create}
          </button>
        )}
      </div>
      <Awaited of={page}>
        {({ accounts, next, undecided }) => (
          <>
            <UndecidedOfAll undecided={undecided} />
            <p class="said" role="status">
              {accounts.length === 0 ? says.noMatch : says.shown(accounts.length, next !== null)}
            </p>
            {accounts.length > 0 && (
              <SortedTable caption={words.pages.accounts} columns={columnsOf()} rows={accounts} keyOf={({ id }) => id} />
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
          </>
        )}
      </Awaited>
      {isNew && <NewAccount close={() => setNew(false)} />}
    </>
  );
};
