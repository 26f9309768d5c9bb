// Stores the lease of this directory's process for the next process there.
//
// The next process ends that owner without waiting for its lease. It also reads whether the store was reachable at the end.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { PreviousLease } from "./node-lease.ts";

const FILE = "node.json";
const Former = Type.Object({
  epoch: Type.Integer({ minimum: 1 }),
  openedAtMs: Type.Integer({ minimum: 0 }),
  /** Since when the store was unreachable; absent: it was reachable. */
  unavailableSinceMs: Type.Optional(Type.Integer({ minimum: 0 })),
});
/** Builds before the first release wrote the member with this name. */
const FORMER_NAME = "awaySinceMs";
export type Former = PreviousLease & { unavailableSinceMs?: number };

/** Undefined if there was no process or the file is unreadable; the new process then waits for the lease. */
export const readFormer = (dir: string): Former | undefined => {
  try {
    const text = readFileSync(join(dir, FILE), "utf8");
    const noted: unknown = JSON.parse(text.replace(`"${FORMER_NAME}":`, '"unavailableSinceMs":'));
    return Value.Check(Former, noted) ? noted : undefined;
  } catch {
    return undefined;
  }
};

/** @throws the system error if the disk rejects it. */
export const noteFormer = (dir: string, owner: Former): void => {
  const path = join(dir, FILE);
  writeFileSync(`${path}.part`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
};
