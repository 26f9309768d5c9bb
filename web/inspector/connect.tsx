// Instructions for showing this service in the Stately Inspector, with a token.
import type { VNode } from "preact";
import { useState } from "preact/hooks";

/** Creates a token; returns it with its expiry. @throws with a sentence that explains the reason. */
export type RequestToken = () => Promise<{ token: string; expiresAtMs: number }>;

const codeOf = (url: string) => `import { createBrowserInspector, createWebSocketReceiver } from "@statelyai/inspect";

const { adapter } = createBrowserInspector();
createWebSocketReceiver({ server: "${url}" }).subscribe((event) => adapter.send(event));`;

const Code = ({ code }: { code: string }): VNode => {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(code).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <>
      <pre>
        <code>{code}</code>
      </pre>
      <button type="button" onClick={() => void copy()}>
        {isCopied ? "Copied" : "Copy"}
      </button>
    </>
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
      <summary>Show this service in the Stately Inspector</summary>
      <p>
        Run this code in your own web page. It opens a window and loads the viewer from stately.ai. This page sends no request.
      </p>
      <p>
        The code authenticates with a token in the address. A token allows new connections for 15 minutes.{" "}
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
      <Code code={codeOf(url)} />
    </details>
  );
};
