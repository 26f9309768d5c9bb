// Receivers of webhooks in a simulated world: their responses, and a log of all requests that arrived.
import { Webhook } from "standardwebhooks";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { EventOracle } from "./event-oracle.ts";
import type { Faults } from "./faults.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import type { Trace } from "./trace.ts";

/** `reset`: the connection breaks. `silent`: no response arrives. */
export type ReceiverAnswer = number | "reset" | "silent";
/** A request that arrived at a receiver. Times are true time, except `timestampMs`, which its sender wrote. */
export type ReceivedEvent = {
  url: string;
  sentAtMs: number;
  atMs: number;
  by: NodeLife;
  id: string;
  timestampMs: number;
  type: string;
  /** When the event happened, as its body states. */
  happened: string;
  sequence: number;
  generationId: string;
  status: string;
  answer: ReceiverAnswer;
  /** The sender read the response within the time of the try. */
  wasRead: boolean;
};
export type WebhookRequest = {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  sentAtMs: number;
  by: NodeLife;
};

export type Receivers = {
  receive(request: WebhookRequest): ReceivedEvent;
  /** The receiver of an address verifies requests with this secret from now on. */
  knows(url: string, secret: string): void;
  /** The receiver of an address responds to nothing until then. */
  outUntil(url: string, ms: number): void;
  urls(): string[];
  log: readonly ReceivedEvent[];
};

type EventBody = { type: string; timestamp: string; sequence: number; data: { id?: string; status?: string } };

/** Whether a request has a signature of the secret, as the library of Standard Webhooks computes it. */
const isSigned = (headers: Readonly<Record<string, string>>, body: string, secret: string): boolean => {
  const { "webhook-id": id = "", "webhook-timestamp": timestamp = "", "webhook-signature": signatures = "" } = headers;
  const expected = new Webhook(secret).sign(id, new Date(Number(timestamp) * 1000), body);
  return signatures.split(" ").includes(expected);
};

export type ReceiversDeps = {
  nowMs: () => number;
  dice: Rng;
  faults: () => Faults;
  isPeace: () => boolean;
  oracle: EventOracle;
  situations: CoverageCounters;
  trace: Trace;
  fault: (text: string) => void;
};

/** The longest time from the end of a stop to the bytes of a request that was under way. */
const AWAKE_MS = 1000;
/** Whether its process was stopped until it sent the event. What it had read before, such as its endpoint, was old by then. */
export const wasStopped = ({ by, sentAtMs }: Pick<ReceivedEvent, "by" | "sentAtMs">): boolean =>
  by.frozenUntilMs() >= sentAtMs - AWAKE_MS;

export const createReceivers = (of: ReceiversDeps): Receivers => {
  const { nowMs, dice, faults, oracle, situations, trace, fault } = of;
  const secrets = new Map<string, string>();
  const outUntilMs = new Map<string, number>();
  const log: ReceivedEvent[] = [];

  const answer = (url: string): ReceiverAnswer => {
    if (!of.isPeace() && nowMs() < (outUntilMs.get(url) ?? 0)) return dice.pick(["reset", 503] as const);
    if (dice.chance(faults().goneReceiver)) return 410;
    if (!dice.chance(faults().brokenReceiver)) return 200;
    return dice.pick([500, 500, 302, "reset", "silent"] as const);
  };
  /** The checks that need no later knowledge. */
  const check = (request: WebhookRequest, { type, data }: EventBody): void => {
    const { url, headers, body } = request;
    const id = data.id ?? "";
    const secret = secrets.get(url);
    if (!oracle.due(url, type, id)) fault(`${url}: received ${type} of ${id}, which no transaction had committed for it`);
    if (data.status !== type.slice("generation.".length)) fault(`${url}: received ${type} of ${id}, which shows ${data.status}`);
    if (secret !== undefined && !isSigned(headers, body, secret) && !wasStopped(request))
      fault(`${url}: ${type} of ${id} does not verify`);
  };

  return {
    log,
    urls: () => [...secrets.keys()],
    knows: (url, secret) => void secrets.set(url, secret),
    outUntil: (url, ms) => void outUntilMs.set(url, ms),
    receive: (request) => {
      const { url, headers, sentAtMs, by } = request;
      const body = JSON.parse(request.body) as EventBody;
      check(request, body);
      const [answered, generationId] = [answer(url), body.data.id ?? ""];
      const received: ReceivedEvent = {
        ...{ url, sentAtMs, atMs: nowMs(), by, id: headers["webhook-id"] ?? "", type: body.type, happened: body.timestamp },
        ...{ timestampMs: Number(headers["webhook-timestamp"]) * 1000, sequence: body.sequence, generationId },
        ...{ status: body.data.status ?? "", answer: answered, wasRead: false },
      };
      log.push(received);
      if (answered === 410) situations.count("receiversGone");
      if (answered === "silent" || answered === "reset") situations.count("receiversSilent");
      trace.report("receiver", body.type, generationId, `${url} ${answered} from ${by.name}`);
      return received;
    },
  };
};
