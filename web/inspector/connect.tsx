// Instructions for connecting external programs and the official inspector, with a token.
import type { VNode } from "preact";
import { useState } from "preact/hooks";

/** Creates a token; returns it with its expiry. @throws with a sentence that explains the reason. */
export type RequestToken = () => Promise<{ token: string; expiresAtMs: number }>;

const snippets = (url: string) =>
  [
    {
      title: "Show your own program in this inspector",
      about: "Run this code in a program with XState 5. The inspector shows the actor and all actors that it spawns.",
      code: `import { createWebSocketInspector } from "@statelyai/inspect";

const { inspect } = createWebSocketInspector({ url: "${url}" });
createActor(machine, { inspect }).start();`,
    },
    {
      title: "Show this service in the Stately Inspector",
      about:
        "Run this code in your own web page. The page opens a window and loads the viewer from stately.ai. This page sends no request.",
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
      setFault(thrown instanceof Error ? thrown.message : "The token could not be created."),
    );
  };
  const url = token === null ? openUrl : `${openUrl}?token=${token.token}`;
  return (
    <details class="connect">
      <summary>Connect a program</summary>
      <p>
        A program authenticates with a token in the address. A token allows new connections for 15 minutes.{" "}
        <button type="button" onClick={ask}>
          {token === null ? "Create a token" : "Create another token"}
        </button>{" "}
        <span role="status">
          {token === null
            ? ""
            : `The code below contains the token. It expires at ${new Date(token.expiresAtMs).toLocaleTimeString()}.`}
        </span>
      </p>
      {fault === null ? null : <p role="alert">{fault}</p>}
      {snippets(url).map((snippet) => (
        <Snippet key={snippet.title} {...snippet} />
      ))}
    </details>
  );
};
