// Pointers into answers: JSON pointers with `*` for every member, `[type=video]` for those of a list that say so, and `[thought!=true]` for those that do not.
import type { ProviderResponse } from "../port.ts";
import { DialectFault } from "./placeholders.ts";

/** All values that a pointer leads to, in the order of the answer. */
export type Seek = (r: ProviderResponse) => unknown[];

/** No answer has more of anything that is worth reading. */
const MOST_FOUND = 1_000;
const STEP = /^([^[\]]*)(?:\[([A-Za-z0-9_-]+)(!?)=([^\]]*)\])?$/;

type Step = { name: string; where?: { member: string; value: string; isThere: boolean } };

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const entriesOf = (value: unknown): unknown[] => (isTree(value) ? Object.values(value) : []);
const memberOf = (value: unknown, name: string): unknown[] =>
  isTree(value) && Object.hasOwn(value, name) && !(Array.isArray(value) && name === "length") ? [value[name]] : [];

const stepOf = (part: string): Step => {
  const [, name, member, not, value] = STEP.exec(part) ?? [];
  if (name === undefined || (name === "" && member === undefined)) throw new DialectFault(`"${part}" is no step of a pointer`);
  const plain = name.replaceAll("~1", "/").replaceAll("~0", "~");
  return member === undefined ? { name: plain } : { name: plain, where: { member, value: value ?? "", isThere: not === "" } };
};

const follow =
  (steps: readonly Step[]) =>
  (body: unknown): unknown[] => {
    let found: unknown[] = [body];
    for (const { name, where } of steps) {
      found = found.flatMap((value) => (name === "*" ? entriesOf(value) : memberOf(value, name))).slice(0, MOST_FOUND);
      if (where)
        found = found.filter((item) => {
          const says = isTree(item) && Object.hasOwn(item, where.member) && String(item[where.member]) === where.value;
          return says === where.isThere;
        });
    }
    return found.filter((value) => value !== undefined && value !== null);
  };

/**
 * Compiles a pointer: `/data/task_id` into the body, `` for all of it, `@header/retry-after`, `@status`, `@text`. Of several the first
 * that leads anywhere counts.
 * @throws DialectFault
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
    throw new DialectFault(`a pointer begins with "/" or is @status, @text or @header/NAME: "${pointer}"`);
  const steps = pointer.slice(1).split("/").map(stepOf);
  const walk = follow(steps);
  return (r) => walk(r.json);
};

/** Pointers from an item of a list instead of an answer. */
export const seekWithin = (pointer: string | readonly string[]): ((item: unknown) => unknown[]) => {
  const seek = seekOf(pointer);
  return (item) => seek({ status: 200, headers: {}, json: item, text: "" });
};

/** The first value as a text, where it is a text or a number. */
export const textAt = (found: readonly unknown[]): string | undefined => {
  const [first] = found;
  return typeof first === "string" || typeof first === "number" || typeof first === "boolean" ? String(first) : undefined;
};
