// Sends requests and reads responses, through the runtime's client or as bytes over a plain socket.
import { connect } from "node:net";
import type { World } from "./fixture.ts";
import type { Answer } from "./oracle.ts";

/** Far longer than any response may take on a busy machine. */
const PATIENCE_MS = 30_000;

/** The event stream of an account has no end; so long it is read. */
const STREAM_MS = 1_000;

/** The body; of an event stream what arrives within STREAM_MS, or all of it if it ends before. */
const textOf = async (response: Response): Promise<string> => {
  if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response.text();
  const reader = response.body.getReader();
  const stop = setTimeout(() => void reader.cancel(), STREAM_MS);
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += decoder.decode(piece.value, { stream: true });
  clearTimeout(stop);
  return text;
};

/** The response, or the reason for its absence. */
export type Heard = { answer: Answer } | { fault: string };

export const sendCall = async (
  world: World,
  ask: { method: string; path: string; headers: [string, string][]; body: string | null; key: string | null },
): Promise<Heard> => {
  const { method, path, body } = ask;
  const headers = new Headers();
  for (const [name, value] of ask.headers) headers.append(name, value);
  if (ask.key !== null) headers.set("authorization", `Bearer ${ask.key}`);
  const startedMs = performance.now();
  try {
    const response = await fetch(world.url + path, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body === null ? {} : { body }),
    });
    const text = await textOf(response);
    const tookMs = performance.now() - startedMs;
    world.longestMs = Math.max(world.longestMs, tookMs);
    world.requests += 1;
    world.statuses.set(response.status, (world.statuses.get(response.status) ?? 0) + 1);
    return { answer: { method, path: pathOf(world.url + path), status: response.status, headers: response.headers, text } };
  } catch (fault) {
    return { fault: `no answer: ${fault instanceof Error ? `${fault.name} ${fault.message}` : fault}` };
  }
};

/** The path as the runtime's client sends it: dots resolved, special characters escaped, one leading slash. */
const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname.replace(/^\/+/, "/") + search;
};

export type RawAnswer = { status: number; headers: Headers; text: string };
/** `rest`: the bytes after the parsed responses. */
export type RawHeard = { answers: RawAnswer[]; rest: string; closed: boolean };

/** Parses the responses in the bytes of a connection. */
const readAnswers = (text: string, isHead: boolean): Pick<RawHeard, "answers" | "rest"> => {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const head = /^HTTP\/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
    if (!head) return { answers, rest };
    const headers = new Headers();
    for (const line of (head[2] ?? "").split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    const status = Number(head[1]);
    const length = isHead || status === 204 || status === 304 || status < 200 ? 0 : Number(headers.get("content-length") ?? 0);
    const body = rest.slice(head[0].length, head[0].length + length);
    if (body.length < length) return { answers, rest };
    rest = rest.slice(head[0].length + length);
    // 100 Continue is no final response.
    if (status >= 200) answers.push({ status, headers, text: Buffer.from(body, "latin1").toString("utf8") });
  }
};

/** Writes bytes and reads until the connection closes or is silent for `waitMs`. */
export const sendBytes = (url: string, bytes: string, waitMs: number): Promise<RawHeard> => {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname);
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...readAnswers(text, /^HEAD /i.test(bytes)), closed });
    };
    const timer = setTimeout(() => finish(false), waitMs);
    socket.on("connect", () => socket.write(bytes, "latin1"));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    // A reset after a response counts as a close: the runtime discards unread bytes.
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
  });
};
