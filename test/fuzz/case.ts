// What the fuzzer sends: cases as plain JSON, so that one that failed can be kept, and the words to send it again by hand.
/** Whose key a call carries; `none` sends no Authorization, `nobody` a key that was never made. */
export const CALLERS = ["own", "none", "nobody", "reader", "paused", "poor", "revoked"] as const;
export type CallerName = (typeof CALLERS)[number];

/** A request over an HTTP client. Words in braces (`{own}`, `{picture}`) stand for what only the running service knows. */
export type Call = {
  kind: "call";
  method: string;
  path: string;
  headers: [name: string, value: string][];
  /** Text of the body, half surrogates only as escapes; null for none. */
  body: string | null;
  as: CallerName;
  /** What the model list promises of it: to be accepted or to be refused; null where it promises neither. */
  expects: "accepted" | "refused" | null;
};

/** Bytes over a plain socket, one character a byte. `framed`: it is one whole request that asks for the connection to close. */
export type Bytes = { kind: "bytes"; bytes: string; framed: boolean };

/** A life: submitted, polled, downloaded, sent again, sent changed, told from a stranger's, ended. */
export type Life = {
  kind: "life";
  body: string;
  /** The same JSON in other words. */
  rewritten: string;
  /** Another request. */
  changed: string;
  key: string;
  looks: ("poll" | "content" | "second" | "stranger" | "replay" | "change" | "link")[];
};

export type Case = Call | Bytes | Life;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A call as a line for a shell. */
export const curlOf = (url: string, call: Pick<Call, "method" | "headers" | "body">): string =>
  [
    `curl -sgi --path-as-is -X ${call.method}`,
    quoted(url),
    ...call.headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(call.body === null ? [] : [`--data-binary ${quoted(call.body)}`]),
  ].join(" ");

/** Bytes as a line for a shell. */
export const printfOf = (url: string, bytes: string): string => {
  const { hostname, port } = new URL(url);
  const escaped = [...bytes].map((byte) => {
    const code = byte.charCodeAt(0);
    return code >= 0x20 && code < 0x7f && !"\\%'".includes(byte) ? byte : `\\${code.toString(8).padStart(3, "0")}`;
  });
  return `printf '${escaped.join("")}' | nc -w 2 ${hostname} ${port}`;
};
