// Names of the states of a route, the same on all pages.
import type { RouteLine } from "../../src/console/operator-dto.ts";
import { words } from "../words/words.ts";

/** The circuit breaker of a route as its statechart names it. A closed breaker lets requests pass, so the route is up. */
const BREAKER: Readonly<Record<string, keyof typeof words.routeStates>> = { closed: "up", open: "down", halfOpen: "probing" };

/** @param state of a route, or of its circuit breaker */
export const routeStateName = (state: RouteLine["state"] | string): string =>
  words.routeStates[(BREAKER[state] ?? state) as keyof typeof words.routeStates] ?? state;
