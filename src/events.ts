// Every line the service logs, in one list, and the logger that writes them; only the fields named here ever leave.
import pino from "pino";
import type { Settings } from "./config.ts";

/** The events: name → level. A line carries its name as `msg` and the fields given; prompts, media URLs and keys never. */
export const EVENTS = {
  "service listening": "info",
  "service draining": "info",
  "service stopped": "info",
  "recovery finished": "info",
  "catalogue loaded": "info",
  "request answered": "info",
  "read answered": "debug",
  "request failed": "error",
  "generation ended": "info",
  "generation parked": "error",
  "attempt late": "warn",
  "provider unclear": "debug",
  "route state changed": "warn",
  "store full": "error",
  "store outcome unknown": "fatal",
  "effect failed": "error",
  "files swept": "info",
  "control request": "info",
  "clock jumped": "warn",
} as const satisfies Record<string, "debug" | "info" | "warn" | "error" | "fatal">;
export type EventName = keyof typeof EVENTS;

/** Fields a line may carry. An allow-list: an object that is logged by mistake shows nothing. */
export type EventFields = Partial<{
  request_id: string;
  method: string;
  route: string;
  status: number;
  dur_ms: number;
  account_id: string;
  generation_id: string;
  attempt: number;
  route_id: string;
  provider: string;
  state: string;
  event: string;
  error_code: string;
  reason: string;
  detail: string;
  count: number;
  url: string;
  pid: number;
  version: string;
}>;

/** Writes one event. */
export type Log = (event: EventName, fields?: EventFields) => void;

/** Where lines go; `flush` writes what was gathered. */
export type LogDestination = { write(line: string): void; flush?(): void };

/** A line that tells of trouble may be the last: it and all before it are written at once. */
const URGENT: ReadonlySet<string> = new Set(["warn", "error", "fatal"]);

/** Standard error. What is logged in one turn of the event loop is one write: a call to the system per line costs as much as the line. */
const gatheringOutput = (): Required<LogDestination> => {
  const out = pino.destination({ dest: 2, sync: true });
  let gathered = "";
  const flush = () => {
    if (gathered === "") return;
    const lines = gathered;
    gathered = "";
    out.write(lines);
  };
  process.on("exit", flush);
  return {
    write: (line) => {
      if (gathered === "") setImmediate(flush);
      gathered += line;
    },
    flush,
  };
};

/** The time of a line, printed once for all lines of a millisecond. */
const openStamp = () => {
  let atMs = Number.NaN;
  let text = "";
  return (): string => {
    const nowMs = Date.now();
    if (nowMs !== atMs) text = `,"time":"${new Date(nowMs).toISOString()}"`;
    atMs = nowMs;
    return text;
  };
};

/** The service's log: JSON lines on standard error (standard output belongs to commands). */
export const openLog = (settings: Settings["log"], destination: LogDestination = gatheringOutput()): Log => {
  const stamp = openStamp();
  let fieldsOfLine = "";
  const logger = pino(
    {
      level: settings.level,
      base: null,
      messageKey: "msg",
      // The fields go in with the time, as text: pino would print them one by one, which takes five times as long.
      timestamp: () => stamp() + fieldsOfLine,
      formatters: { level: (level) => ({ level }) },
    },
    destination,
  );
  return (event, fields = {}) => {
    const level = EVENTS[event];
    if (!logger.isLevelEnabled(level)) return;
    const json = JSON.stringify(fields);
    fieldsOfLine = json === "{}" ? "" : `,${json.slice(1, -1)}`;
    logger[level](event);
    if (URGENT.has(level)) destination.flush?.();
  };
};
