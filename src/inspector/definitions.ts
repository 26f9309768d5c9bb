// The definitions of our own machines as the open protocol sends them: their configuration as JSON, actions and guards by name.

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

/** A state's value as XState has it, from its path. */
export const nestedOf = (path: string): Json => {
  const dot = path.indexOf(".");
  return dot < 0 ? path : { [path.slice(0, dot)]: nestedOf(path.slice(dot + 1)) };
};

const pathsIn = (value: Json | undefined): string[] => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [String(value ?? "")];
  const paths = Object.entries(value).flatMap(([name, below]) => pathsIn(below).map((rest) => (rest ? `${name}.${rest}` : name)));
  return paths.length > 0 ? paths : [""];
};
/** A state by its path; the states of a parallel machine side by side. */
export const pathOf = (value: Json | undefined): string => pathsIn(value).join(", ");
