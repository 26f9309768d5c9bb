// Log of the webhook receiver of a crash run: one JSON line for each request, written before its response.
//
// The receiver is never killed, so a written line stays whatever happens to the service.
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import type { GenerationStatus, JsonObject } from "../../domain/types.ts";

/** How the receiver answered. `reset`: it broke the connection. `hung`: it sent nothing until the end of its patience. */
export type ReceiverAnswer = "accepted" | "rejected" | "reset" | "hung";

/** `data`: the generation without its links, which differ in each request. */
export type ReceivedWebhook = {
  atMs: number;
  path: string;
  /** The header `webhook-id`. */
  id: string;
  type: string;
  sequence: number;
  data: JsonObject;
  /** Whether the official library accepted the signature. */
  isVerified: boolean;
  /**
   * The status of the generation that an independent connection to the database read when the request had arrived. `missing`: the
   * database had no such generation. `unread`: the database was unavailable. Null: the event is not about a generation.
   */
  stored: GenerationStatus | "missing" | "unread" | null;
  answer: ReceiverAnswer;
};

export const openWebhookLog = (path: string) => {
  const file = openSync(path, "a");
  return {
    write: (line: ReceivedWebhook): void => void writeSync(file, `${JSON.stringify(line)}\n`),
    close: () => closeSync(file),
  };
};

/** The whole lines so far; the receiver may be writing another one. */
export const readWebhookLog = (path: string): ReceivedWebhook[] => {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as ReceivedWebhook]));
};
