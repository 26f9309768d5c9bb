// Stored snapshot of a circuit breaker: conversion to and from JSON.
import type { SnapshotFrom } from "xstate";
import { type Failure, SET_UP_FAULTS } from "../../src/domain/types.ts";
import type { circuitBreakerMachine } from "./machine.ts";

export type HealthSnapshot = SnapshotFrom<typeof circuitBreakerMachine>;
/** A stored snapshot. `why`: the error that opened the route, or the credential error that it still has. */
export type StoredHealth = Pick<HealthSnapshot, "value" | "context"> & { why?: Failure | null };

export const freezeHealth = (health: StoredHealth): string => JSON.stringify(health);
export const parseHealth = (snapshot: string): StoredHealth => JSON.parse(snapshot) as StoredHealth;

/** Until when the route of a stored snapshot is not used, and why; null if it is not open. */
export const openInterval = (snapshot: string): { untilMs: number; why: Failure | null } | null => {
  const { value, context, why = null } = parseHealth(snapshot);
  return value === "open" ? { untilMs: context.openUntilMs, why } : null;
};

/** The credential or balance error of a stored snapshot that is open or half open for it; null if there is none. */
export const setUpFaultIn = (snapshot: string): Failure | null => {
  const { why } = parseHealth(snapshot);
  return why && SET_UP_FAULTS.includes(why.class) ? why : null;
};
