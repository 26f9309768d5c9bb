// Compares two contexts of a statechart as a flat list of members.
import type { Json } from "../../src/domain/types.ts";
import { clockText } from "./format.ts";

/** A member by its path (`current.sends`); null where it is absent. */
export type Difference = { path: string; before: string | null; after: string | null; isChanged: boolean };

const TIME = /AtMs$/;
const show = (path: string, value: Json): string => {
  if (TIME.test(path) && typeof value === "number") return clockText(value);
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** Members by path; empty lists and objects are members too. */
const flat = (value: Json, path: string, into: Map<string, string>): Map<string, string> => {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (inner.length === 0) into.set(path, show(path, value));
  for (const [name, each] of inner) flat(each, path === "" ? name : `${path}.${name}`, into);
  return into;
};

/** All members of both contexts, in the order of the later one. `before` null: there was no context. */
export const differences = (before: object | null, after: object): Difference[] => {
  const [old, now] = [
    before ? flat(before as Json, "", new Map()) : new Map<string, string>(),
    flat(after as Json, "", new Map()),
  ];
  const paths = [...new Set([...now.keys(), ...old.keys()])].filter((path) => path !== "");
  return paths.map((path) => {
    const [was, is] = [old.get(path) ?? null, now.get(path) ?? null];
    return { path, before: was, after: is, isChanged: was !== is };
  });
};
