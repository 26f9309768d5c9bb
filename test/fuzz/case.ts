// Defines the fuzzer's cases as plain JSON, so that a failed one can be kept, and shell commands that repeat them.
/** The key that a call carries; `none` sends no Authorization, `unknown` a key that does not exist. */
export const CALLERS = ["own", "none", "unknown", "reader", "paused", "poor", "revoked"] as const;
export type CallerName = (typeof CALLERS)[number];

/** A request over an HTTP client. Words in braces (`{own}`, `{picture}`) are placeholders for values of the running service. */
export type Call = {
  kind: "call";
  method: string;
  path: string;
  headers: [name: string, value: string][];
  /** Text of the body, with unpaired surrogates only as escapes; null for none. */
  body: string | null;
  as: CallerName;
  /** Whether the model list requires acceptance or refusal; null if it requires neither. */
  expects: "accepted" | "refused" | null;
};

/** Bytes over a plain socket, one character for each byte. `framed`: one complete request with Connection: close. */
export type Bytes = { kind: "bytes"; bytes: string; framed: boolean };

/** A life: submission, polls, download, replay, changed replay, access by another account, end. */
export type Life = {
  kind: "life";
  body: string;
  /** The same JSON in another notation. */
  rewritten: string;
  /** Another request. */
  changed: string;
  key: string;
  looks: ("poll" | "content" | "second" | "stranger" | "replay" | "change" | "link")[];
};

export type Case = Call | Bytes | Life;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A call as a shell command. */
export const curlOf = (url: string, call: Pick<Call, "method" | "headers" | "body">): string =>
  [
    `curl -sgi --path-as-is -X ${call.method}`,
    quoted(url),
    ...call.headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(call.body === null ? [] : [`--data-binary ${quoted(call.body)}`]),
  ].join(" ");

/** Bytes as a shell command. */
export const printfOf = (url: string, bytes: string): string => {
  const { hostname, port } = new URL(url);
  const escaped = [...bytes].map((byte) => {
    const code = byte.charCodeAt(0);
    return code >= 0x20 && code < 0x7f && !"\\%'".includes(byte) ? byte : `\\${code.toString(8).padStart(3, "0")}`;
  });
  return `printf '${escaped.join("")}' | nc -w 2 ${hostname} ${port}`;
};
