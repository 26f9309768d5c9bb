// Instructions for showing this service in the Stately Inspector, with a token.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { shortTimeText } from "../components/format.ts";
import { words } from "../words/inspector-words.ts";

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
      <button type="button" class="button is-small" onClick={() => void copy()}>
        {isCopied ? words.inspector.connect.copied : words.actions.copy}
      </button>
    </>
  );
};

export const Connect = ({ openUrl, requestToken }: { openUrl: string; requestToken: RequestToken }): VNode => {
  const [token, setToken] = useState<{ token: string; expiresAtMs: number } | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const { connect: text } = words.inspector;
  const ask = () => {
    setFault(null);
    requestToken().then(setToken, (thrown: unknown) => setFault(thrown instanceof Error ? thrown.message : text.failed));
  };
  const url = token === null ? openUrl : `${openUrl}?token=${token.token}`;
  return (
    <details class="connect">
      <summary>{text.title}</summary>
      <p>{text.about}</p>
      <p>
        {text.token}{" "}
        <button type="button" class="button is-small" onClick={ask}>
          {token === null ? text.create : text.createAnother}
        </button>{" "}
        <span role="status">{token === null ? "" : text.created(shortTimeText(token.expiresAtMs, Date.now()))}</span>
      </p>
      {fault === null ? null : <p role="alert">{fault}</p>}
      <Code code={codeOf(url)} />
    </details>
  );
};
