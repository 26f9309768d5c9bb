// `/console/keys`: lists keys with policy, spend and last use; create, change, rotate, revoke.

import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { KeysPage, KeyView } from "../../src/console/keys-dto.ts";
import { usd } from "../components/format.ts";
import { relativeTime } from "./format.ts";
import { type KeyAction, KeyDialog, type Send } from "./key-dialogs.tsx";
import { KeyLimitBars } from "./key-limits.tsx";

const stateOf = ({ state, expiresAtMs }: KeyView, nowMs: number): string => {
  if (state !== "active") return state;
  return expiresAtMs === null ? "active" : `until ${relativeTime(expiresAtMs, nowMs).replace(/^in /, "in ")}`;
};

const KeyCard = (of: { of: KeyView; mayChange: boolean; act: (action: KeyAction) => void }): VNode => {
  const key = of.of;
  const nowMs = Date.now();
  const isOver = key.state !== "active";
  const facts: [string, string][] = [
    ["Scope", key.scope === "generate" ? "generate and read" : "read only"],
    ["Models", key.models === null ? "all" : key.models.join(", ")],
    ["Last used", key.lastUsedAtMs === null ? "never" : relativeTime(key.lastUsedAtMs, nowMs)],
    ["Last 30 days", usd(key.last30Credits)],
    ["Created", relativeTime(key.createdAtMs, nowMs)],
  ];
  const button = (kind: "change" | "rotate" | "revoke", says: string) => (
    <button
      type="button"
      class={`button${kind === "revoke" ? " is-danger" : ""}`}
      aria-label={`${says} ${key.name || key.start}`}
      onClick={() => of.act({ kind, key })}
    >
      {says}
    </button>
  );
  return (
    <li class={`card key${isOver ? " is-over" : ""}`} data-key={key.id}>
      <header>
        <h2>{key.name || "Unnamed key"}</h2>
        <code>{key.start}…</code>
        <span class={`status is-${key.state}`}>{stateOf(key, nowMs)}</span>
      </header>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <KeyLimitBars limits={key.limits} />
      {of.mayChange && key.state !== "revoked" && (
        <div class="key-buttons">
          {button("change", "Change")}
          {key.state === "active" && key.rotatedTo === null && button("rotate", "Rotate")}
          {button("revoke", "Revoke")}
        </div>
      )}
    </li>
  );
};

/** `account`: account of the keys, for operators; otherwise the user's own. */
export const KeysView = ({ send, account }: { send: Send; account: string | null }): VNode => {
  const [page, setPage] = useState<KeysPage | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [action, act] = useState<KeyAction | null>(null);
  const read = useCallback(() => {
    const query = account === null ? "" : `?account=${encodeURIComponent(account)}`;
    send<KeysPage>("GET", `/console/api/keys${query}`).then(setPage, (reason: Error) => setFault(reason.message));
  }, [send, account]);
  useEffect(read, [read]);
  // The element that opened a dialog may have been removed when it closes; the focus then moves to the head of the page.
  const head = useRef<HTMLButtonElement>(null);
  const hadDialog = useRef(false);
  useEffect(() => {
    if (action !== null) hadDialog.current = true;
    else if (hadDialog.current && document.activeElement === document.body) head.current?.focus();
  }, [action, page]);
  if (fault !== null)
    return (
      <p class="notice is-bad" role="alert">
        {fault}
      </p>
    );
  if (page === null) return <p aria-busy="true">Loading the keys…</p>;
  return (
    <>
      <div class="page-head">
        <p>A key gives access to the API for {page.account.name}. It is shown once, at its creation.</p>
        {page.mayChange && (
          <button ref={head} type="button" class="button is-main" onClick={() => act({ kind: "make" })}>
            New key
          </button>
        )}
      </div>
      {page.keys.length === 0 ? (
        <p class="empty">No keys yet. Create a key to use the API.</p>
      ) : (
        <ul class="keys">
          {page.keys.map((key) => (
            <KeyCard key={key.id} of={key} mayChange={page.mayChange} act={act} />
          ))}
        </ul>
      )}
      {action !== null && (
        <KeyDialog
          key={action.kind}
          {...{ page, send, action }}
          close={() => act(null)}
          done={(next) => {
            act(next ?? null);
            read();
          }}
        />
      )}
    </>
  );
};
