// `/console/keys`: lists keys with permissions, spend and last use; create, edit, rotate, revoke.
import { Ellipsis, type IconNode, KeyRound, Pencil, Plus, RefreshCw, Trash2 } from "lucide";
import type { ComponentChildren, RefObject, VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { KeysPage, KeyView } from "../../src/console/keys-dto.ts";
import { EmptyState } from "../components/empty-state.tsx";
import { timeText, usd } from "../components/format.ts";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { MenuEntry } from "../components/menu-entry.tsx";
import { lockUnless, ReadOnlyNote } from "../components/read-only.tsx";
import { RowTable } from "../components/row-table.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { words } from "../words/console-words.ts";
import { relativeTime } from "./format.ts";
import { type KeyAction, KeyDialog, nameOf, type Send } from "./key-dialogs.tsx";
import { KeyLimitBars } from "./key-limits.tsx";

type Act = (action: KeyAction) => void;

const StateBadge = ({ of }: { of: KeyView }): VNode | null => {
  const { state, expiresAtMs } = of;
  if (state !== "active") return <span class={`status is-${state}`}>{words.keys.states[state]}</span>;
  if (expiresAtMs === null) return null;
  return (
    <span class="badge" title={timeText(expiresAtMs)}>
      {words.keys.expires(relativeTime(expiresAtMs, Date.now()))}
    </span>
  );
};

const ModelsOf = ({ models }: Pick<KeyView, "models">): VNode => {
  if (models === null) return <span class="muted">{words.keys.allModels}</span>;
  return (
    <span class="muted" title={models.join(", ")}>
      {models.length === 1 ? models[0] : words.keys.models(models.length)}
    </span>
  );
};

const KeyMenu = ({ of: key, mayChange, act }: { of: KeyView; mayChange: boolean; act: Act }): VNode => {
  const entry = (kind: "rotate" | "edit" | "revoke", icon: IconNode, isDanger = false) => (
    <MenuEntry label={words.keys[kind]} onClick={() => act({ kind, key })} {...{ icon, mayChange, isDanger }} />
  );
  return (
    <Menu label={words.actionsFor(nameOf(key))} icon={Ellipsis}>
      {key.state === "active" && key.rotatedTo === null && entry("rotate", RefreshCw)}
      {entry("edit", Pencil)}
      {entry("revoke", Trash2, true)}
    </Menu>
  );
};

const Row = ({ of: key, mayChange, act }: { of: KeyView; mayChange: boolean; act: Act }): VNode => {
  const { columns } = words.keys;
  return (
    <tr class={key.state === "active" ? undefined : "is-over"} data-key={key.id}>
      <th scope="row">
        <div class="stacked">
          <span>
            <span class="row-name">{key.name || words.keys.unnamed}</span> <StateBadge of={key} />
          </span>
          <code>{key.start}…</code>
        </div>
      </th>
      <td data-head={columns.access}>
        <div class="stacked">
          <span>{words.keys.scopes[key.scope]}</span>
          <ModelsOf models={key.models} />
        </div>
      </td>
      <td data-head={columns.lastUsed} title={key.lastUsedAtMs === null ? undefined : timeText(key.lastUsedAtMs)}>
        {key.lastUsedAtMs === null ? words.keys.never : relativeTime(key.lastUsedAtMs, Date.now())}
      </td>
      <td data-head={columns.spent} class="number">
        {usd(key.last30Credits)}
      </td>
      <td data-head={columns.limits}>
        <KeyLimitBars limits={key.limits} />
      </td>
      <td class="row-menu">{key.state !== "revoked" && <KeyMenu of={key} mayChange={mayChange} act={act} />}</td>
    </tr>
  );
};

const KeyTable = ({ keys, mayChange, act }: { keys: readonly KeyView[]; mayChange: boolean; act: Act }): VNode => (
  <RowTable columns={words.keys.columns} numbers={["spent"]}>
    {keys.map((key) => (
      <Row key={key.id} {...{ of: key, mayChange, act }} />
    ))}
  </RowTable>
);

type ListProps = { page: KeysPage; act: Act; newKey: ComponentChildren };

/** Keys that are expired or revoked are collapsed, because they are never deleted. */
const KeyList = ({ page, act, newKey }: ListProps): VNode => {
  const { mayChange } = page;
  const [active, inactive] = [true, false].map((is) => page.keys.filter(({ state }) => (state === "active") === is));
  return (
    <>
      {active && active.length > 0 ? (
        <KeyTable keys={active} mayChange={mayChange} act={act} />
      ) : (
        <EmptyState icon={KeyRound} title={words.keys.none} about={words.keys.noneAbout}>
          {newKey}
          <a class="button" href="/docs/guides/quick-start">
            {words.keys.quickStart}
          </a>
        </EmptyState>
      )}
      {inactive && inactive.length > 0 && (
        <details class="inactive-keys">
          <summary>{words.keys.inactive(inactive.length)}</summary>
          <KeyTable keys={inactive} mayChange={mayChange} act={act} />
        </details>
      )}
    </>
  );
};

const NewKey = (of: { mayChange: boolean; act: Act; head?: RefObject<HTMLButtonElement | null> }): VNode => (
  <button
    {...(of.head ? { ref: of.head } : {})}
    type="button"
    class="button is-main"
    {...lockUnless(of.mayChange)}
    onClick={() => of.act({ kind: "create" })}
  >
    <Icon of={Plus} />
    {words.keys.create}
  </button>
);

const useKeys = (send: Send, account: string | null) => {
  const [page, setPage] = useState<KeysPage | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const read = useCallback(() => {
    const query = account === null ? "" : `?account=${encodeURIComponent(account)}`;
    send<KeysPage>("GET", `/console/api/keys${query}`).then(setPage, (reason: Error) => setFault(reason.message));
  }, [send, account]);
  useEffect(read, [read]);
  return { page, fault, read };
};

/** `account`: account of the keys, for operators; otherwise the user's own. */
export const KeysView = ({ send, account }: { send: Send; account: string | null }): VNode => {
  const { page, fault, read } = useKeys(send, account);
  const [action, act] = useState<KeyAction | null>(null);
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
  if (page === null) return <Skeleton lines={4} label={words.keys.loading} />;
  return (
    <>
      <div class="page-head">
        <p>{words.keys.about(page.account.name)}</p>
        <NewKey mayChange={page.mayChange} act={act} head={head} />
      </div>
      {!page.mayChange && <ReadOnlyNote />}
      <KeyList page={page} act={act} newKey={<NewKey mayChange={page.mayChange} act={act} />} />
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
