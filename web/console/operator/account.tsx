// `/console/operator/accounts/:id`: credits, limits, keys and last transfers of one account.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AccountView as Account, AccountTransfer, OwnLimit } from "../../../src/console/operator-dto.ts";
import { timeText, usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { type AccountAction, AccountDialog } from "./account-dialogs.tsx";
import { API, Awaited, mayChange, PageMessage } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";
import { Undecided } from "./undecided.tsx";

const KINDS: Readonly<Record<AccountTransfer["kind"], string>> = {
  topup: "Top-up",
  hold: "Hold",
  capture: "Charge",
  release: "Release",
  adjust: "Adjustment",
};

const TRANSFERS: readonly Column<AccountTransfer>[] = [
  { says: "Time", cell: ({ atMs }) => timeText(atMs) },
  { says: "Kind", cell: ({ kind }) => KINDS[kind] },
  {
    says: "Amount",
    cell: ({ credits, kind, isOut }) => `${isOut && kind === "adjust" ? "−" : ""}${usd(credits)}`,
    isNumber: true,
  },
  { says: "Available after", cell: (row) => usd(row.availableAfterCredits), isNumber: true },
  { says: "For", cell: ({ generationId, note }) => (generationId === null ? note : <code>{generationId}</code>) },
];

const limitText = ({ own, service }: OwnLimit): string => (own === null ? `${service} (service)` : `${own} (account)`);

const retentionText = ({ own, service }: Account["promptRetention"]): string => {
  const kept = own ?? service;
  return `${kept === "forever" ? kept : `${kept} s`} (${own === null ? "service" : "account"})`;
};

const BUTTONS: readonly (readonly [AccountAction, (account: Account) => string])[] = [
  ["grant", () => "Grant credits"],
  ["take", () => "Take back"],
  ["limits", () => "Set limits"],
  ["pause", ({ paused }) => (paused ? "Resume" : "Pause")],
];

const Facts = ({ of }: { of: Account }): VNode => {
  const facts: readonly (readonly [string, string])[] = [
    ["Balance", usd(of.balanceCredits)],
    ["Held", usd(of.heldCredits)],
    ["Available", usd(of.availableCredits)],
    ["Charged in total", usd(of.chargedCredits)],
    ["Owed", usd(of.owedCredits)],
    ["In progress", String(of.inProgress)],
    ["Users", of.users.join(", ") || "none"],
    ["Keys", `${of.keys.active} of ${of.keys.all} active`],
    ["Requests per second", limitText(of.limits.burstPerS)],
    ["Max generations in progress", limitText(of.limits.inProgress)],
    ["Prompts kept", retentionText(of.promptRetention)],
    ["Created", timeText(of.createdAtMs)],
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

export const AccountPage = ({ id }: { id: string }): VNode => {
  const page = useQuery<Account>(`${API}/accounts/${encodeURIComponent(id)}`);
  const [action, act] = useState<AccountAction | null>(null);
  const [message, say] = useState("");
  return (
    <Awaited of={page}>
      {(account) => (
        <>
          <p class="page-head">
            <span>
              <a href="/console/operator/accounts">Accounts</a> / <strong>{account.name}</strong> <code>{account.id}</code>{" "}
              {account.paused ? <span class="status is-paused">paused</span> : <span class="status is-active">active</span>}
            </span>
          </p>
          <Undecided
            of={account}
            done={(next, text) => {
              page.put(next);
              say(text);
            }}
          />
          <Facts of={account} />
          {mayChange() && (
            <p class="actions">
              {BUTTONS.map(([kind, says]) => (
                <button key={kind} type="button" class="button" onClick={() => act(kind)}>
                  {says(account)}
                </button>
              ))}
            </p>
          )}
          <PageMessage text={message} />
          <p class="links">
            <a href={`/console/generations?account=${id}`}>Generations</a> <a href={`/console/keys?account=${id}`}>Keys</a>{" "}
            <a href={`/console/credits?account=${id}`}>Credits</a> <a href={`/console/ledger?account=${id}`}>Ledger</a>{" "}
            <a href={`/console/usage?account=${id}`}>Usage</a>
          </p>
          <h2>Recent transfers</h2>
          {account.transfers.length === 0 ? (
            <p class="empty">No transfers yet.</p>
          ) : (
            <SortedTable
              caption="Recent transfers"
              columns={TRANSFERS}
              rows={account.transfers}
              keyOf={({ atMs, kind, credits, generationId, availableAfterCredits: after }) =>
                [atMs, kind, credits, generationId, after].join(" ")
              }
            />
          )}
          {action !== null && (
            <AccountDialog
              {...{ of: account, action }}
              close={() => act(null)}
              done={(next, text) => {
                page.put(next);
                say(text);
                act(null);
              }}
            />
          )}
        </>
      )}
    </Awaited>
  );
};
