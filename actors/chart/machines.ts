// Registry of all statecharts by name, for drawing, printing and the playground.

import { circuitBreakerMachine } from "../circuit-breaker/machine.ts";
import { generationMachine } from "../generation/machine.ts";
import { ledgerMachine } from "../ledger.ts";
import type { AnyMachine } from "./chart.ts";

export const MACHINE_NAMES = ["generation", "route-health", "ledger"] as const;
export type MachineName = (typeof MACHINE_NAMES)[number];

/** Each statechart with one sentence about it. */
export const MACHINES: Readonly<Record<MachineName, { machine: AnyMachine; about: string }>> = {
  generation: { machine: generationMachine, about: "a generation from its acceptance to its charge or its failure" },
  "route-health": { machine: circuitBreakerMachine, about: "the circuit breaker of a route: closed, open or half open" },
  ledger: { machine: ledgerMachine, about: "the single writer: idle, committing, or waiting for disk space" },
};
