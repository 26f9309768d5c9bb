// Plays one case against the service and returns all faults of its responses.
import { METHODS } from "node:http";
import { moneyFaults } from "./books.ts";
import type { Bytes, Call, Case } from "./case.ts";
import { curlOf, printfOf } from "./case.ts";
import { fill, type Lane } from "./fixture.ts";
import { playLife } from "./life.ts";
import { type Answer, OF_RUNTIME } from "./oracle.ts";
import { sendBytes, sendCall } from "./send.ts";

/** A complete request with Connection: close is awaited; an incomplete one is given up soon. */
const FRAMED_MS = 20_000;
const BROKEN_MS = 60;
/** The runtime reads about 16 kB of headers and at most this number of them. */
const HEADERS_AT_MOST = { bytes: 15_000, lines: 90 };

export const keyOf = (lane: Lane, as: Call["as"]): string | null =>
  as === "none" ? null : as === "own" ? lane.own.key : lane.world.keys[as];

/** Checks a response against the promise of the model list. */
const promiseFaults = ({ expects, as }: Call, { status, text }: Answer): string[] => {
  if (expects === "refused") {
    const accepted = status === 202 || status === 200;
    return accepted ? [`${status}, but it had to be refused`] : [];
  }
  if (expects !== "accepted" || as !== "own") return [];
  if (status === 202 || status === 200) return [];
  // Circuit breakers change, prices of long clips add up, and routes differ in the combinations that they accept.
  if (status === 503 && /"model_unavailable"/.test(text)) return [];
  if (status === 422 && (/"max_cost_exceeded"/.test(text) || /with the rest of this input/.test(text))) return [];
  return [`${status} ${text.slice(0, 200)}, but it is what the model list offers`];
};

const acceptedOf = ({ status, text }: Answer): { id: string; reservedUsd: number; model: string } | null => {
  if (status !== 202) return null;
  const { id, reserved_usd, model } = JSON.parse(text) as { id: string; reserved_usd: number; model: string };
  return { id, reservedUsd: reserved_usd, model };
};

const playCall = async (lane: Lane, call: Call): Promise<string[]> => {
  const { world, own } = lane;
  const { books } = world;
  const filled = async ([name, value]: [string, string]): Promise<[string, string]> => [name, await fill(lane, value)];
  const path = await fill(lane, call.path);
  const body = call.body === null ? null : await fill(lane, call.body);
  const headers = await Promise.all(call.headers.map(filled));
  const before = books.standing(own.accountSeq);
  const heard = await sendCall(world, { method: call.method, path, headers, body, key: keyOf(lane, call.as) });
  if ("fault" in heard) return [heard.fault];
  const { answer } = heard;
  const faults = world.oracle.faultsOf(answer);
  if (faults.length > 0) return faults;
  const accepted = call.as === "own" && call.method === "POST" ? acceptedOf(answer) : null;
  if (accepted) {
    lane.lastId = accepted.id;
    world.accepted.set(accepted.model, (world.accepted.get(accepted.model) ?? 0) + 1);
  }
  const after = books.standing(own.accountSeq);
  const moved = after.chain === before.chain ? [] : books.since(own.accountSeq, before.chain);
  return [
    ...promiseFaults(call, answer),
    ...moneyFaults(
      before,
      after,
      moved.filter(({ chain }) => chain <= after.chain),
      accepted,
    ),
  ];
};

/** Whether the runtime may refuse a complete request before our code: no token, no path, too many headers. */
const isOutsideHttp = (bytes: string): boolean => {
  const [head = ""] = bytes.split("\r\n\r\n");
  const [line = "", ...lines] = head.split("\r\n");
  return (
    !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+ [\x21-\x7e]+ HTTP\/1\.1$/.test(line) ||
    // The runtime closes the connection on an unknown method.
    !METHODS.includes(line.split(" ")[0] ?? "") ||
    !/^[A-Z-]+ \//.test(line) ||
    /[^\t\x20-\x7e]/.test(lines.join("")) ||
    lines.some((each) => !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+:/.test(each)) ||
    head.length > HEADERS_AT_MOST.bytes ||
    lines.length > HEADERS_AT_MOST.lines
  );
};

const playBytes = async (lane: Lane, { bytes: template, framed }: Bytes): Promise<string[]> => {
  const { world } = lane;
  const { key, accountSeq } = framed ? lane.own : lane.loose;
  const bytes = await fill(lane, template, key);
  const before = world.books.standing(accountSeq);
  const { answers, rest, closed } = await sendBytes(world.served.url, bytes, framed ? FRAMED_MS : BROKEN_MS);
  const faults: string[] = [];
  const [method = "", path = ""] = bytes.split(/\r\n| HTTP\//)[0]?.split(" ") ?? [];
  const isOutside = !framed || isOutsideHttp(bytes);
  let accepted: ReturnType<typeof acceptedOf> = null;
  for (const { status, headers, text } of answers) {
    world.statuses.set(status, (world.statuses.get(status) ?? 0) + 1);
    if (isOutside && OF_RUNTIME.includes(status) && text === "") continue;
    // Broken bytes may contain two requests: only the first line shows which one a response belongs to.
    if (framed) faults.push(...world.oracle.faultsOf({ method, path, status, headers, text }));
    else if (status >= 500 && status !== 503 && status !== 505) faults.push(`${status} ${text.slice(0, 200)}`);
    if (method === "POST") accepted ??= acceptedOf({ method, path, status, headers, text });
  }
  world.requests += 1;
  if (framed && answers.length !== 1 && !(isOutside && answers.length === 0 && closed))
    faults.push(`${answers.length} answers to one request${closed ? "" : ", and the connection stays open"}`);
  if (rest !== "") faults.push(`no answer of HTTP: ${JSON.stringify(rest.slice(0, 120))}`);
  const after = world.books.standing(accountSeq);
  if (!framed) return [...faults, ...moneyFaults(before, after, [], null)];
  return [...faults, ...moneyFaults(before, after, world.books.since(accountSeq, before.chain), accepted)];
};

/** Plays a case. @returns its faults. */
export const play = async (lane: Lane, one: Case): Promise<string[]> => {
  lane.serial += 1;
  switch (one.kind) {
    case "call":
      return playCall(lane, one);
    case "bytes":
      return playBytes(lane, one);
    case "life":
      return playLife(lane, one);
  }
};

/** A case as a shell command, as it would be sent now. */
export const lineOf = async (lane: Lane, one: Case): Promise<string> => {
  if (one.kind === "bytes") return printfOf(lane.world.served.url, await fill(lane, one.bytes));
  const key = one.kind === "life" ? lane.lives.key : keyOf(lane, one.as);
  const call = one.kind === "life" ? { method: "POST", path: "/v1/generations", headers: [], body: one.body } : one;
  const headers: [string, string][] = [
    ...call.headers,
    ...(key === null ? [] : [["Authorization", `Bearer ${key}`] as [string, string]]),
  ];
  const body = call.body === null ? null : await fill(lane, call.body);
  return curlOf(lane.world.url + (await fill(lane, call.path)), { method: call.method, headers, body });
};
