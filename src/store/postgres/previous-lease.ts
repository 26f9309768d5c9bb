// Which owner the last process of a directory was: the next one there knows that it is dead, and does not wait for its lease; and whether it
// could reach the store when it ended.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { PreviousLease } from "./node-lease.ts";

const FILE = "node.json";
const Former = Type.Object({
  epoch: Type.Integer({ minimum: 1 }),
  openedAtMs: Type.Integer({ minimum: 0 }),
  /** Since when it could not reach the store; absent: it could. */
  awaySinceMs: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type Former = PreviousLease & { awaySinceMs?: number };

/** Undefined where nobody was, or what was noted cannot be read: then the lease is waited for. */
export const readFormer = (dir: string): Former | undefined => {
  try {
    const noted: unknown = JSON.parse(readFileSync(join(dir, FILE), "utf8"));
    return Value.Check(Former, noted) ? noted : undefined;
  } catch {
    return undefined;
  }
};

/** @throws the system's error where the disk refuses it. */
export const noteFormer = (dir: string, owner: Former): void => {
  const path = join(dir, FILE);
  writeFileSync(`${path}.part`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
};
