// `/console/operator/providers`: provider accounts with credential source and routes.
//
// Credentials are set here and never shown.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { KeySet, KeySourceView, ProviderAccount, ProvidersPage } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { count } from "./format.ts";
import { API, Awaited, mayChange } from "./page.tsx";
import { RouteStatus } from "./routes.tsx";

type Action = { kind: "set" | "drop"; account: string };

const sourceText = (key: KeySourceView | null): string => {
  if (key === null) return "no key";
  if (key.from === "vault") return `key stored in the vault${key.setAtMs === null ? "" : `, set ${timeText(key.setAtMs)}`}`;
  return key.from === "file" ? "key from a file of the configuration" : "key from the configuration or the environment";
};

const SetKey = ({ account, close, done }: { account: string; close: () => void; done: (text: string) => void }): VNode => {
  const [key, setKey] = useState("");
  const run = async () => {
    if (key.trim() === "") return "Enter the key.";
    const path = `${API}/providers/${encodeURIComponent(account)}/key`;
    const { isShadowed } = await call<KeySet>("POST", path, { key: key.trim() });
    const but = isShadowed ? " The configuration also has a key, which takes precedence." : " It is used from now on.";
    done(`The key of ${account} is stored.${but}`);
    return undefined;
  };
  return (
    <DialogState title={`Key of ${account}`} does="Store key" close={close} run={run}>
      <TextField
        says="Key"
        isSecret
        value={key}
        set={setKey}
        maxLength={4096}
        about="The key is encrypted before it is stored and is never shown again. It replaces a stored key."
      />
    </DialogState>
  );
};

const DropKey = ({ account, close, done }: { account: string; close: () => void; done: (text: string) => void }): VNode => {
  const run = async () => {
    await call("DELETE", `${API}/providers/${encodeURIComponent(account)}/key`);
    done(`The key of ${account} is deleted.`);
    return undefined;
  };
  return (
    <DialogState title={`Delete the key of ${account}?`} does="Delete key" isDanger close={close} run={run}>
      <p>
        Its routes are no longer used, unless the configuration also has a key. Running jobs cannot be polled without a key. Wait
        until they have ended.
      </p>
    </DialogState>
  );
};

const Provider = ({ of, act }: { of: ProviderAccount; act: (action: Action) => void }): VNode => {
  const isKept = of.interfaces.some(({ key }) => key?.from === "vault");
  return (
    <li class="card" data-provider={of.account}>
      <div class="page-head">
        <h2>{of.account}</h2>
        {mayChange() && (
          <span class="actions">
            <button
              type="button"
              class="button"
              aria-label={`${isKept ? "Replace" : "Set"} key of ${of.account}`}
              onClick={() => act({ kind: "set", account: of.account })}
            >
              {isKept ? "Replace key" : "Set key"}
            </button>
            {isKept && (
              <button
                type="button"
                class="button is-danger"
                aria-label={`Delete key of ${of.account}`}
                onClick={() => act({ kind: "drop", account: of.account })}
              >
                Delete key
              </button>
            )}
          </span>
        )}
      </div>
      {of.interfaces.map(({ id, name, key, routes }) => (
        <div key={id}>
          <p>
            <strong>{name}</strong> {sourceText(key)}
          </p>
          {routes.length === 0 ? (
            <p class="muted">The catalogue has no route to this provider.</p>
          ) : (
            <details>
              <summary>
                {count(routes.length, "route")}, {routes.filter(({ state }) => state === "up").length} up
              </summary>
              <ul>
                {routes.map((route) => (
                  <li key={route.id}>
                    {route.id} <RouteStatus state={route.state} /> {route.reason}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      ))}
    </li>
  );
};

export const ProvidersView = (): VNode => {
  const page = useQuery<ProvidersPage>(`${API}/providers`);
  const [action, act] = useState<Action | null>(null);
  const [message, say] = useState("");
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const isWanted = ({ account, interfaces }: ProviderAccount) =>
    `${account} ${interfaces.map(({ name }) => name).join(" ")}`.toLowerCase().includes(wanted);
  const props = {
    close: () => act(null),
    done: (sentence: string) => {
      say(sentence);
      act(null);
      page.again();
    },
  };
  return (
    <Awaited of={page}>
      {({ providers }) => (
        <>
          <form class="filters" onSubmit={(event) => event.preventDefault()}>
            <TextField says="Search providers" inputMode="search" value={text} set={setText} />
          </form>
          <p class="said" role="status">
            {message}
          </p>
          <ul class="plain">
            {providers.filter(isWanted).map((of) => (
              <Provider key={of.account} of={of} act={act} />
            ))}
          </ul>
          {action?.kind === "set" && <SetKey account={action.account} {...props} />}
          {action?.kind === "drop" && <DropKey account={action.account} {...props} />}
        </>
      )}
    </Awaited>
  );
};
