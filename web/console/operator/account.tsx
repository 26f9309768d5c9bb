// `/console/operator/accounts/:id`: credits, limits, keys and last transfers of one account.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AccountView as Account, AccountTransfer, OwnLimit } from "../../../src/console/operator-dto.ts";
import { timeText, usd } from "../../components/format.ts";
import { Time } from "../../components/time.tsx";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { type AccountAction, AccountDialog } from "./account-dialogs.tsx";
import { AccountStatus } from "./accounts.tsx";
import { number } from "./format.ts";
import { API, Awaited, type Fact, Facts, mayChange, PageMessage } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";
import { Undecided } from "./undecided.tsx";

const transferColumns = (): readonly Column<AccountTransfer>[] => {
  const { columns: says, kinds } = operatorWords.account;
  return [
    { says: says.time, cell: ({ atMs }) => <Time atMs={atMs} /> },
    { says: says.kind, cell: ({ kind }) => kinds[kind] },
    {
      ...{ says: says.amount, isNumber: true },
      cell: ({ credits, kind, isOut }) => `${isOut && kind === "adjust" ? "−" : ""}${usd(credits)}`,
    },
    { says: says.after, cell: (row) => usd(row.availableAfterCredits), isNumber: true },
    {
      says: says.reference,
      cell: ({ generationId: id, note }) => (id === null ? note : <a href={`/console/generations/${id}`}>{id}</a>),
    },
  ];
};

const limitText = ({ own, service }: OwnLimit): string =>
  own === null ? operatorWords.account.ofService(number(service)) : number(own);

const retentionText = ({ own, service }: Account["promptRetention"]): string => {
  const { ofService, forever, keptSeconds } = operatorWords.account;
  const kept = own ?? service;
  const text = kept === "forever" ? forever : keptSeconds(number(kept));
  return own === null ? ofService(text) : text;
};

const factsOf = (of: Account): Fact[] => {
  const says = operatorWords.account;
  return [
    { name: says.balance, value: usd(of.balanceCredits) },
    { name: says.available, value: usd(of.availableCredits) },
    { name: says.held, value: usd(of.heldCredits) },
    { name: says.spent, value: usd(of.chargedCredits) },
    { name: says.debt, value: of.owedCredits > 0 ? <strong class="bad">{usd(of.owedCredits)}</strong> : usd(0) },
    { name: says.inProgress, value: number(of.inProgress) },
    { name: says.keys, value: says.keysActive(of.keys.active, of.keys.all) },
    { name: says.perSecond, value: limitText(of.limits.burstPerS) },
    { name: says.atOnce, value: limitText(of.limits.inProgress) },
    { name: says.prompts, value: retentionText(of.promptRetention) },
    { name: says.created, value: timeText(of.createdAtMs) },
    { name: says.users, value: of.users.join(", ") || "–", isWide: of.users.length > 1 },
  ];
};

const PAGES = ["generations", "files", "keys", "webhooks", "credits", "ledger", "usage"] as const;

const Head = ({ account, act }: { account: Account; act: (action: AccountAction) => void }): VNode => {
  const says = operatorWords.account;
  const buttons: readonly (readonly [AccountAction, string])[] = [
    ["grant", says.grant],
    ["take", says.take],
    ["limits", says.limits],
    ["pause", account.paused ? says.resume : says.pause],
  ];
  return (
    <>
      <p class="page-head">
        <span>
          <a href="/console/operator/accounts">{says.back}</a> / <strong>{account.name}</strong> <code>{account.id}</code>{" "}
          <AccountStatus paused={account.paused} />
        </span>
      </p>
      {mayChange() && (
        <p class="actions">
          {buttons.map(([kind, name]) => (
            <button key={kind} type="button" class="button" onClick={() => act(kind)}>
              {name}
            </button>
          ))}
        </p>
      )}
    </>
  );
};

const Recent = ({ transfers }: Pick<Account, "transfers">): VNode => {
  const says = operatorWords.account;
  return (
    <>
      <h2>{says.recent}</h2>
      {transfers.length === 0 ? (
        <p class="empty">{says.noTransfers}</p>
      ) : (
        <SortedTable
          caption={says.recent}
          columns={transferColumns()}
          rows={transfers}
          keyOf={({ atMs, kind, credits, generationId, availableAfterCredits: after }) =>
            [atMs, kind, credits, generationId, after].join(" ")
          }
        />
      )}
    </>
  );
};

export const AccountPage = ({ id }: { id: string }): VNode => {
  const page = useQuery<Account>(`${API}/accounts/${encodeURIComponent(id)}`);
  const [action, act] = useState<AccountAction | null>(null);
  const [message, say] = useState("");
  const says = operatorWords.account;
  const done = (next: Account, text: string) => {
    page.put(next);
    say(text);
    act(null);
  };
  return (
    <Awaited of={page}>
      {(account) => (
        <>
          <Head account={account} act={act} />
          <PageMessage text={message} />
          <Undecided of={account} done={done} />
          <Facts facts={factsOf(account)} />
          <nav class="links" aria-label={says.pages}>
            {PAGES.map((name) => (
              <a key={name} href={`/console/${name}?account=${id}`}>
                {says.links[name]}
              </a>
            ))}
          </nav>
          <Recent transfers={account.transfers} />
          {action !== null && <AccountDialog {...{ of: account, action, done }} close={() => act(null)} />}
        </>
      )}
    </Awaited>
  );
};
