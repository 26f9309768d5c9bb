// Logger: writes JSON lines, or readable lines on a terminal.
//
// All lines of one turn of the event loop are written together.
import { tracingChannel } from "node:diagnostics_channel";
import pino from "pino";
import type { Settings } from "../config/schema.ts";
import { EVENTS, type EventName, type Log } from "./events.ts";
import { prettyLine } from "./pretty.ts";

// The runtime's tracing channels lack `hasSubscribers`; without it pino prints each line as for a subscriber, at twice the cost.
const channels = Object.getPrototypeOf(tracingChannel("pino_asJson"));
if (!("hasSubscribers" in channels))
  Object.defineProperty(channels, "hasSubscribers", {
    get(this: ReturnType<typeof tracingChannel>) {
      const { start, end, asyncStart, asyncEnd, error } = this;
      return (
        start.hasSubscribers || end.hasSubscribers || asyncStart.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers
      );
    },
  });

/** A line at these levels may be the last, so it and all pending lines are written immediately. */
const URGENT: ReadonlySet<string> = new Set(["warn", "error", "fatal"]);

/** Creates the formatter of the time field, which formats once for all lines of a millisecond. */
const openStamp = () => {
  let stampedMs = Number.NaN;
  let text = "";
  return (atMs: number): string => {
    if (atMs !== stampedMs) text = `,"time":"${new Date(atMs).toISOString()}"`;
    stampedMs = atMs;
    return text;
  };
};

/** Properties of the log's destination. */
export type LogTarget = {
  /** Standard error is an interactive terminal. */
  isTty: boolean;
  colour: boolean;
};

/**
 * The service's log on standard error (standard output belongs to commands): JSON lines, or readable lines on a terminal. Lines
 * of one turn of the event loop are printed at its end in sequence and written at once. Both then cost a third of their separate
 * cost.
 */
export const createLog = (settings: Settings["log"], { isTty, colour }: LogTarget = { isTty: false, colour: false }): Log => {
  const isPretty = settings.format === "pretty" || (settings.format === "auto" && isTty);
  const stamp = openStamp();
  let waiting: { event: EventName; fields: string; atMs: number }[] = [];
  let prefix = "";
  let printed = "";
  const out = pino.destination({ dest: 2, sync: true, contentMode: "buffer" });
  const logger = pino(
    {
      level: settings.level,
      base: null,
      messageKey: "msg",
      // The fields are inserted with the time, as text. pino would print them one by one, which takes five times as long.
      timestamp: () => prefix,
      formatters: { level: (level) => ({ level }) },
    },
    {
      write: (line) => {
        printed += isPretty ? prettyLine(line, colour) : line;
      },
    },
  );
  const flush = () => {
    if (waiting.length === 0) return;
    const lines = waiting;
    waiting = [];
    printed = "";
    for (const { event, fields, atMs } of lines) {
      prefix = fields === "{}" ? stamp(atMs) : `${stamp(atMs)},${fields.slice(1, -1)}`;
      logger[EVENTS[event]](event);
    }
    out.write(Buffer.from(printed) as never);
  };
  process.on("exit", flush);
  return (event, fields = {}) => {
    const level = EVENTS[event];
    if (!logger.isLevelEnabled(level)) return;
    if (waiting.push({ event, fields: JSON.stringify(fields), atMs: Date.now() }) === 1) setImmediate(flush);
    if (URGENT.has(level)) flush();
  };
};
