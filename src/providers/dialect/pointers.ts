// Pointers into responses: JSON pointers with wildcards and filters.
//
// `*` selects every member. `[type=video]` selects the list members with that value, and `[thought!=true]` those without it.
import type { ProviderResponse } from "../port.ts";
import { DialectError } from "./placeholders.ts";

/** All values that a pointer selects, in the order of the response. */
export type Seek = (r: ProviderResponse) => unknown[];

/** The most values that a pointer selects. */
const MAX_FOUND = 1_000;
const STEP = /^([^[\]]*)(?:\[([A-Za-z0-9_-]+)(!?)=([^\]]*)\])?$/;

type Step = { name: string; where?: { member: string; value: string; isThere: boolean } };

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const entriesOf = (value: unknown): unknown[] => (isTree(value) ? Object.values(value) : []);
const memberOf = (value: unknown, name: string): unknown[] =>
  isTree(value) && Object.hasOwn(value, name) && !(Array.isArray(value) && name === "length") ? [value[name]] : [];

const stepOf = (part: string): Step => {
  const [, name, member, not, value] = STEP.exec(part) ?? [];
  if (name === undefined || (name === "" && member === undefined)) throw new DialectError(`"${part}" is not a step of a pointer`);
  const plain = name.replaceAll("~1", "/").replaceAll("~0", "~");
  return member === undefined ? { name: plain } : { name: plain, where: { member, value: value ?? "", isThere: not === "" } };
};

const follow =
  (steps: readonly Step[]) =>
  (body: unknown): unknown[] => {
    let found: unknown[] = [body];
    for (const { name, where } of steps) {
      found = found.flatMap((value) => (name === "*" ? entriesOf(value) : memberOf(value, name))).slice(0, MAX_FOUND);
      if (where)
        found = found.filter((item) => {
          const says = isTree(item) && Object.hasOwn(item, where.member) && String(item[where.member]) === where.value;
          return says === where.isThere;
        });
    }
    return found.filter((value) => value !== undefined && value !== null);
  };

/**
 * Compiles a pointer: `/data/task_id` into the body, an empty pointer for the whole body, `@header/retry-after`, `@status`,
 * `@text`. Of several pointers the first that selects a value counts. @throws DialectError
 */
export const seekOf = (pointer: string | readonly string[]): Seek => {
  if (typeof pointer !== "string") {
    const each = pointer.map((one) => seekOf(one));
    return (r) => {
      for (const seek of each) {
        const found = seek(r);
        if (found.length > 0) return found;
      }
      return [];
    };
  }
  if (pointer === "@status") return (r) => [r.status];
  if (pointer === "@text") return (r) => (r.text === "" ? [] : [r.text]);
  if (pointer.startsWith("@header/")) {
    const name = pointer.slice("@header/".length).toLowerCase();
    return (r) => memberOf(r.headers, name);
  }
  if (pointer === "") return (r) => (r.json === undefined ? [] : [r.json]);
  if (!pointer.startsWith("/"))
    throw new DialectError(`a pointer begins with "/" or is @status, @text or @header/NAME: "${pointer}"`);
  const steps = pointer.slice(1).split("/").map(stepOf);
  const walk = follow(steps);
  return (r) => walk(r.json);
};

/** A pointer relative to an item of a list instead of a response. */
export const seekWithin = (pointer: string | readonly string[]): ((item: unknown) => unknown[]) => {
  const seek = seekOf(pointer);
  return (item) => seek({ status: 200, headers: {}, json: item, text: "" });
};

/** The first value as a text, if it is a string, a number or a boolean. */
export const textAt = (found: readonly unknown[]): string | undefined => {
  const [first] = found;
  return typeof first === "string" || typeof first === "number" || typeof first === "boolean" ? String(first) : undefined;
};
