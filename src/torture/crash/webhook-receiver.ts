// Webhook receiver of a crash run, in a process of its own: it verifies, logs and answers, and at times it fails.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import type { JsonObject } from "../../domain/types.ts";
import { chance } from "../../simulator/fault-script.ts";
import type { StoreReads } from "../../store/store.ts";
import { withoutLinks } from "./client-log.ts";
import { type DatabaseLocation, isShared, openReads } from "./crash-fixture.ts";
import { openWebhookLog, type ReceivedWebhook, type ReceiverAnswer } from "./webhook-log.ts";
import { secretOf, type WebhookTargets } from "./webhook-targets.ts";

export type ReceiverPlan = { port: number; log: string; seed: number; database: DatabaseLocation; targets: WebhookTargets };

/** Shares of the answers; all other requests are accepted. */
const FAILURES: readonly (readonly [ReceiverAnswer, number])[] = [
  ["rejected", 0.05],
  ["reset", 0.03],
  ["hung", 0.02],
];
/** Share of the requests that are accepted after a while, and the longest while. A kill then finds a try in flight. */
const SLOW = 0.2;
const SLOW_MS = 500;
/** A request without a response is closed after this time, which is shorter than the patience of the service. */
const HUNG_MS = 3000;
/**
 * A connection to the database is closed after this time without a request. A killed SQLite service is then without readers when it
 * starts again, so it recovers its write-ahead log by itself.
 */
const IDLE_MS = { directory: 20, shared: 5000 };
/** The longest wait for a shared database that is unavailable. */
const UNREAD_MS = 1000;
const PARENT_MS = 1000;

/** Reads what is committed, over a connection of its own. */
const createIndependentReader = (database: DatabaseLocation) => {
  let opened: Promise<StoreReads> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let busy = 0;
  const drop = (): void => {
    opened?.then(
      (reads) => reads.close(),
      () => undefined,
    );
    opened = undefined;
  };
  const read = async (id: string): Promise<ReceivedWebhook["stored"]> => {
    opened ??= openReads(database);
    return (await (await opened).findGeneration(id))?.status ?? "missing";
  };
  return async (id: string): Promise<ReceivedWebhook["stored"]> => {
    clearTimeout(timer);
    busy += 1;
    try {
      return await Promise.race([read(id), Bun.sleep(UNREAD_MS).then(() => "unread" as const)]);
    } catch {
      drop();
      return "unread";
    } finally {
      busy -= 1;
      clearTimeout(timer);
      if (busy === 0) timer = setTimeout(drop, isShared(database) ? IDLE_MS.shared : IDLE_MS.directory);
    }
  };
};

/** Decides the answer of each request. A submission's own address fails at most once for an event, because no call repeats it. */
const createAnswers = (seed: number) => {
  const roll = chance(seed);
  const failed = new Set<string>();
  let isCalm = false;
  return {
    calm: (is: boolean): void => {
      isCalm = is;
    },
    next: (path: string, id: string): { answer: ReceiverAnswer; laterMs: number } => {
      const name = `${path} ${id}`;
      let left = roll();
      const laterMs = roll() < SLOW && !isCalm ? roll() * SLOW_MS : 0;
      const mayFail = !isCalm && !(path.startsWith("/own/") && failed.has(name));
      for (const [answer, share] of mayFail ? FAILURES : []) {
        left -= share;
        if (left >= 0) continue;
        failed.add(name);
        return { answer, laterMs };
      }
      return { answer: "accepted", laterMs };
    },
  };
};

const bytesOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
};

const isAccepted = (secret: string | undefined, text: string, headers: IncomingMessage["headers"]): boolean => {
  try {
    new Webhook(secret ?? "").verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

const respond = async (response: ServerResponse, answer: ReceiverAnswer): Promise<void> => {
  if (answer === "accepted" || answer === "rejected") return void response.writeHead(answer === "accepted" ? 204 : 500).end();
  if (answer === "hung") await Promise.race([Bun.sleep(HUNG_MS), new Promise((over) => response.once("close", over))]);
  response.socket?.destroy();
};

/** The receiver process: runs until SIGTERM, or until its parent has ended. */
export const runReceiver = async (planPath: string): Promise<void> => {
  const plan = JSON.parse(readFileSync(planPath, "utf8")) as ReceiverPlan;
  const log = openWebhookLog(plan.log);
  const storedStatus = createIndependentReader(plan.database);
  const answers = createAnswers(plan.seed);
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    const text = await bytesOf(request);
    if (path === "/calm") {
      answers.calm(request.method === "POST");
      return void response.writeHead(204).end();
    }
    const { type, sequence, data } = JSON.parse(text) as { type: string; sequence: number; data: JsonObject };
    const id = String(request.headers["webhook-id"]);
    const stored = data.object === "generation" ? await storedStatus(String(data.id)) : null;
    const isVerified = isAccepted(secretOf(plan.targets, path), text, request.headers);
    const { answer, laterMs } = answers.next(path, id);
    log.write({ atMs: Date.now(), path, id, type, sequence, data: withoutLinks(data), isVerified, stored, answer });
    if (laterMs > 0) await Bun.sleep(laterMs);
    await respond(response, answer);
  };
  // A request that breaks off before its end was not received.
  const server = createServer((request, response) => void receive(request, response).catch(() => response.socket?.destroy()));
  await new Promise<void>((listening) => void server.listen(plan.port, "127.0.0.1", listening));
  process.stdout.write(`receiver on port ${plan.port}\n`);
  const parent = process.ppid;
  await new Promise<void>((over) => {
    process.once("SIGTERM", over);
    const watch = setInterval(() => process.ppid !== parent && over(), PARENT_MS);
    watch.unref();
  });
  server.closeAllConnections();
  server.close();
  log.close();
};
