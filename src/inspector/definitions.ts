// Definitions of the service's statecharts as JSON in the format of the open protocol.
//
// Actions and guards are given by name.

import { circuitBreakerMachine } from "../../actors/circuit-breaker/machine.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { ledgerMachine } from "../../actors/ledger.ts";
import type { Json } from "../domain/types.ts";

const printed = (config: unknown): string =>
  JSON.stringify(config, (_, value: unknown) => (typeof value === "function" ? { type: value.name } : value));

const MACHINES = { generation: generationMachine, route: circuitBreakerMachine, ledger: ledgerMachine } as const;
const known = new Map<string, string>();

export const definitionOf = (kind: keyof typeof MACHINES): string => {
  const before = known.get(kind);
  if (before !== undefined) return before;
  const made = printed(MACHINES[kind].config);
  known.set(kind, made);
  return made;
};

/** Converts the path of a state to an XState value. */
export const nestedOf = (path: string): Json => {
  const dot = path.indexOf(".");
  return dot < 0 ? path : { [path.slice(0, dot)]: nestedOf(path.slice(dot + 1)) };
};
