// The name of a state as the pages show it.
import type { ActorKind } from "../../src/inspector/dto.ts";
import { routeStateName } from "../components/route-state.ts";

/** Routes have the names of the routes page; all other statecharts have the names of their definition. */
export const stateName = (kind: ActorKind, state: string): string => (kind === "route" ? routeStateName(state) : state);
