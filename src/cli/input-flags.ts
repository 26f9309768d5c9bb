// Flags for the input fields of a generation, shared by `generate` and `explain`.
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { Json, JsonObject } from "../domain/types.ts";
import { CommandError, EXITS } from "./exit-codes.ts";

/** Any JSON number; the service validates it against the model. */
const number = (text: string): number => {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError("Expected a number.");
  return Number(text);
};
const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

type Field = { flag: string; about: string; read?: (text: string, before: never) => Json };

/** Every field of §2.6, §2.7 and §2.9 in their order; the flag of a list field is repeated for each item. */
const FIELDS: readonly Field[] = [
  { flag: "--prompt <text>", about: "description of the result" },
  { flag: "--negative-prompt <text>", about: "content to exclude" },
  { flag: "--image-url <media>", about: "start frame, or picture to edit" },
  { flag: "--end-image-url <media>", about: "last frame" },
  { flag: "--image-urls <media>", about: "reference picture; once per picture", read: collect },
  { flag: "--video-url <media>", about: "clip to transform" },
  { flag: "--video-urls <media>", about: "reference clip; once per clip", read: collect },
  { flag: "--audio-url <media>", about: "sound to animate to" },
  { flag: "--audio-urls <media>", about: "reference sound; once per sound", read: collect },
  { flag: "--resolution <name>", about: "for example 720p or 2K" },
  { flag: "--aspect-ratio <ratio>", about: "for example 16:9" },
  { flag: "--duration <seconds>", about: "length of the clip", read: number },
  { flag: "--quality <tier>", about: "for example low, medium, high" },
  { flag: "--seed <n>", about: "the same seed gives the same picture, on models that take one", read: number },
  { flag: "--voice <name>", about: "voice of a speech model" },
  { flag: "--language <code>", about: "language of the text, for example en" },
  { flag: "--speed <factor>", about: "speed of the speech; 1 is normal", read: number },
  { flag: "--output-format <format>", about: "png, jpeg or webp; mp3, wav, flac or opus" },
  { flag: "--background <kind>", about: "opaque or transparent" },
  { flag: "--mask-url <media>", about: "part of the picture to edit, a picture of the same size" },
];

/** Adds the flags of all input fields, and `--input` for the complete input. */
export const withFields = (command: Command): Command => {
  for (const { flag, about, read } of FIELDS)
    if (read) command.option(flag, about, read as (text: string, before: Json | undefined) => Json);
    else command.option(flag, about);
  return command
    .option("--audio", "with sound")
    .option("--no-audio", "without sound")
    .option("--input <json>", "input as JSON or @FILE; the flags above override its fields");
};

/** Parses a JSON object from the text, or from a file if the text starts with `@`. */
export const parseObject = (text: string, flag: string): JsonObject => {
  const wrong = (why: string): never => {
    throw new CommandError(EXITS.usage, `${flag}: ${why}`, {
      fix: `for example ${flag} '{"prompt":"a red kite"}'`,
      code: "bad_flag",
    });
  };
  let source = text;
  if (text.startsWith("@"))
    try {
      source = readFileSync(text.slice(1), "utf8");
    } catch (fault) {
      return wrong(`${text.slice(1)} cannot be read (${fault instanceof Error ? fault.message : fault})`);
    }
  let value: Json;
  try {
    value = JSON.parse(source) as Json;
  } catch (fault) {
    return wrong(`not JSON (${fault instanceof Error ? fault.message : fault})`);
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : wrong("not a JSON object");
};

/** `--end-image-url` → `endImageUrl`, as commander names it, and `end_image_url`, as the API names it. */
const namesOf = (flag: string): { option: string; field: string } => {
  const name = flag.slice(2).split(" ")[0] ?? "";
  return { option: name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()), field: name.replaceAll("-", "_") };
};

/** The input from the flags. An absent flag is an absent field, so the service's default applies. */
export const inputOf = (flags: Readonly<Record<string, unknown>>): JsonObject => {
  const input: JsonObject = typeof flags.input === "string" ? parseObject(flags.input, "--input") : {};
  for (const { flag } of [...FIELDS, { flag: "--audio" }]) {
    const { option, field } = namesOf(flag);
    const value = flags[option];
    if (value !== undefined) input[field] = value as Json;
  }
  return input;
};
