// Instructions for connecting external programs and the official inspector, with a token.
import type { VNode } from "preact";
import { useState } from "preact/hooks";

/** Creates a token; returns it with its expiry. @throws with a sentence that explains the reason. */
export type RequestToken = () => Promise<{ token: string; expiresAtMs: number }>;

const snippets = (url: string) =>
  [
    {
      title: "See a program of yours here",
      about: "Any XState 5 actor, and those that it makes, while this page is open or before.",
      code: `import { createWebSocketInspector } from "@statelyai/inspect";

const { inspect } = createWebSocketInspector({ url: "${url}" });
createActor(machine, { inspect }).start();`,
    },
    {
      title: "See the service in the official inspector",
      about: "In a page of yours that may open a window: it asks stately.ai for its viewer; this page sends no request.",
      code: `import { createBrowserInspector, createWebSocketReceiver } from "@statelyai/inspect";

const { adapter } = createBrowserInspector();
createWebSocketReceiver({ server: "${url}" }).subscribe((event) => adapter.send(event));`,
    },
  ] as const;

const Snippet = ({ title, about, code }: ReturnType<typeof snippets>[number]): VNode => {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(code).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <div class="connect-snippet">
      <h3>{title}</h3>
      <p>{about}</p>
      <pre>
        <code>{code}</code>
      </pre>
      <button type="button" onClick={() => void copy()}>
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
};

export const Connect = ({ openUrl, requestToken }: { openUrl: string; requestToken: RequestToken }): VNode => {
  const [token, setToken] = useState<{ token: string; expiresAtMs: number } | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const ask = () => {
    setFault(null);
    requestToken().then(setToken, (thrown: unknown) =>
      setFault(thrown instanceof Error ? thrown.message : "There is no token now."),
    );
  };
  const url = token === null ? openUrl : `${openUrl}?token=${token.token}`;
  return (
    <details class="connect">
      <summary>Connect a program</summary>
      <p>
        Programs have no session: they show a token in the address, which is good for connecting for 15 minutes.{" "}
        <button type="button" onClick={ask}>
          {token === null ? "Make a token" : "Make another token"}
        </button>{" "}
        <span role="status">
          {token === null ? "" : `It is in the text below, until ${new Date(token.expiresAtMs).toLocaleTimeString()}.`}
        </span>
      </p>
      {fault === null ? null : <p role="alert">{fault}</p>}
      {snippets(url).map((snippet) => (
        <Snippet key={snippet.title} {...snippet} />
      ))}
    </details>
  );
};
