// Which owner the last process of a directory was: the next one there knows that it is dead, and does not wait for its lease.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { FormerOwner } from "./owner.ts";

const FILE = "node.json";
const Former = Type.Object({ epoch: Type.Integer({ minimum: 1 }), openedAtMs: Type.Integer({ minimum: 0 }) });

/** Undefined where nobody was, or what was noted cannot be read: then the lease is waited for. */
export const readFormer = (dir: string): FormerOwner | undefined => {
  try {
    const noted: unknown = JSON.parse(readFileSync(join(dir, FILE), "utf8"));
    return Value.Check(Former, noted) ? noted : undefined;
  } catch {
    return undefined;
  }
};

export const noteFormer = (dir: string, owner: FormerOwner): void => {
  const path = join(dir, FILE);
  writeFileSync(`${path}.part`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
};
