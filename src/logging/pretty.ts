// Formats a log line for a terminal: time, level, event and fields.
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];
const STYLES: Readonly<Record<string, Style>> = { debug: "dim", info: "green", warn: "yellow", error: "red", fatal: "red" };
const LEVEL_CHARS = 5;
const EVENT_CHARS = 24;

/** Values that are ambiguous without delimiters are quoted. */
const shown = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);

/** `12:00:01.250 info  generation ended   generation_id=gen_1 state=succeeded`, from a line of JSON. */
export const prettyLine = (line: string, colour: boolean): string => {
  const { level, time, msg, ...fields } = JSON.parse(line) as { level: string; time: string; msg: string };
  const paint = (style: Style, text: string) => (colour ? styleText(style, text, { validateStream: false }) : text);
  const rest = Object.entries(fields).map(([name, value]) => `${paint("dim", `${name}=`)}${shown(value)}`);
  const words = [paint("dim", time.slice(11, 23)), paint(STYLES[level] ?? "dim", level.padEnd(LEVEL_CHARS))];
  words.push(rest.length > 0 ? msg.padEnd(EVENT_CHARS) : msg, ...rest);
  return `${words.join(" ")}\n`;
};
