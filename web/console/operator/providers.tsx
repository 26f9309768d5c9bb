// `/console/operator/providers`: provider accounts with their state, the source of their key and their routes.
//
// Credentials are set here and never shown.
import { MoreHorizontal } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { KeysChecked, ProviderAccount, ProvidersPage } from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { Menu } from "../../components/menu.tsx";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { TextField } from "./dialog.tsx";
import { checksText } from "./key-check-text.ts";
import { API, Awaited, mayChange, PageMessage } from "./page.tsx";
import { DropKey, SetKey } from "./provider-dialogs.tsx";
import { RouteStatus } from "./routes.tsx";

type Action = { kind: "set" | "drop" | "test"; of: ProviderAccount };
type Interface = ProviderAccount["interfaces"][number];

const routesOf = ({ interfaces }: ProviderAccount) => interfaces.flatMap(({ routes }) => routes);

/** The state of a provider in one sentence, and whether it is good. */
const stateOf = (of: ProviderAccount): { text: string; tone: "is-good" | "is-bad" | "" } => {
  const { providers: says } = operatorWords;
  const routes = routesOf(of);
  if (routes.length === 0) return { text: says.unused, tone: "" };
  const up = routes.filter(({ state }) => state === "up").length;
  if (up === routes.length) return { text: says.ready(up), tone: "is-good" };
  const unkeyed = routes.filter(({ state }) => state === "no key").length;
  if (unkeyed === routes.length) return { text: says.needsKey(unkeyed), tone: "" };
  return up === 0 ? { text: says.allDown(routes.length), tone: "is-bad" } : { text: says.partly(up, routes.length), tone: "" };
};

const keyText = ({ key }: Pick<Interface, "key">): string => {
  const { providers: says } = operatorWords;
  if (key === null) return says.noKey;
  if (key.from === "vault") return says.stored(timeText(key.setAtMs ?? 0));
  return key.from === "file" ? says.fromFile : says.fromSettings;
};

/** A stored key that the configuration overrides is shown, so that it can be removed. */
const isShadowed = ({ storedAtMs, interfaces }: ProviderAccount): boolean =>
  storedAtMs !== null && interfaces.every(({ key }) => key?.from !== "vault");

const KeyLines = ({ of }: { of: ProviderAccount }): VNode => {
  const { providers: says } = operatorWords;
  const texts = new Set(of.interfaces.map(keyText));
  return (
    <dl class="provider-key">
      <dt>{says.key}</dt>
      <dd>
        {texts.size === 1 ? (
          [...texts]
        ) : (
          <ul>
            {of.interfaces.map((one) => (
              <li key={one.id}>
                {one.name}: {keyText(one)}
              </li>
            ))}
          </ul>
        )}
        {isShadowed(of) && <span class="notice is-warn">{says.shadowed(timeText(of.storedAtMs ?? 0))}</span>}
      </dd>
    </dl>
  );
};

const RouteList = ({ of }: { of: ProviderAccount }): VNode | null => {
  const routes = routesOf(of);
  if (routes.length === 0) return null;
  const up = routes.filter(({ state }) => state === "up").length;
  return (
    <details>
      <summary>{operatorWords.providers.routes(routes.length, up)}</summary>
      <ul class="provider-routes">
        {routes.map((route) => (
          <li key={route.id}>
            {route.id} <RouteStatus state={route.state} /> {route.reason}
          </li>
        ))}
      </ul>
    </details>
  );
};

const Actions = ({ of, act }: { of: ProviderAccount; act: (action: Action) => void }): VNode => {
  const { providers: says } = operatorWords;
  const isStored = of.storedAtMs !== null;
  const hasKey = of.interfaces.some(({ key }) => key !== null);
  return (
    <span class="actions">
      <button
        type="button"
        class="button is-small"
        aria-label={isStored ? says.replaceOf(of.name) : says.setOf(of.name)}
        onClick={() => act({ kind: "set", of })}
      >
        {isStored ? says.replace : says.set}
      </button>
      {(hasKey || isStored) && (
        <Menu label={says.actionsOf(of.name)} icon={MoreHorizontal}>
          {hasKey && (
            <button type="button" class="menu-item" data-closes onClick={() => act({ kind: "test", of })}>
              {says.test}
            </button>
          )}
          {isStored && (
            <button type="button" class="menu-item is-danger" data-closes onClick={() => act({ kind: "drop", of })}>
              {says.remove}
            </button>
          )}
        </Menu>
      )}
    </span>
  );
};

const Provider = ({ of, act }: { of: ProviderAccount; act: (action: Action) => void }): VNode => {
  const { text, tone } = stateOf(of);
  const others = of.interfaces.map(({ name }) => name).filter((name) => name !== of.name);
  return (
    <li class="card provider" data-provider={of.account}>
      <div class="provider-head">
        <h2>
          {of.name} {of.name !== of.account && <code>{of.account}</code>}
        </h2>
        {mayChange() && <Actions of={of} act={act} />}
      </div>
      <p class={tone === "is-good" ? "good" : tone === "is-bad" ? "bad" : undefined}>{text}</p>
      {others.length > 0 && (
        <p class="muted">
          {operatorWords.providers.interfaces}: {of.interfaces.map(({ name }) => name).join(", ")}
        </p>
      )}
      <KeyLines of={of} />
      <RouteList of={of} />
    </li>
  );
};

const hasText = ({ account, interfaces }: ProviderAccount, text: string): boolean =>
  `${account} ${interfaces.map(({ name }) => name).join(" ")}`.toLowerCase().includes(text.trim().toLowerCase());

export const ProvidersView = (): VNode => {
  const page = useQuery<ProvidersPage>(`${API}/providers`);
  const [action, setAction] = useState<Action | null>(null);
  const [message, say] = useState("");
  const [text, setText] = useState("");
  const { providers: says } = operatorWords;
  const act = (next: Action) => {
    if (next.kind !== "test") return setAction(next);
    say(says.testing(next.of.name));
    call<KeysChecked>("POST", `${API}/providers/${encodeURIComponent(next.of.account)}/check`).then(
      ({ checks }) => say(checksText(checks)),
      (thrown: unknown) => say(errorText(thrown)),
    );
  };
  const close = () => setAction(null);
  const done = (sentence: string) => {
    say(sentence);
    close();
    page.again();
  };
  return (
    <Awaited of={page}>
      {({ providers }) => {
        const shown = providers.filter((one) => hasText(one, text));
        return (
          <>
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
              <TextField says={says.search} inputMode="search" value={text} set={setText} />
            </form>
            <PageMessage text={shown.length === 0 ? says.noMatch : message} />
            <ul class="plain providers">
              {shown.map((of) => (
                <Provider key={of.account} of={of} act={act} />
              ))}
            </ul>
            {action?.kind === "set" && <SetKey of={action.of} close={close} done={done} again={page.again} />}
            {action?.kind === "drop" && <DropKey of={action.of} close={close} done={done} />}
          </>
        );
      }}
    </Awaited>
  );
};
