// A member, a viewer and an operator of a house, who ask the operator's paths of its console.
import type { Role } from "../../src/console/request-context.ts";
import type { House } from "../harness.ts";
import { openVisitor, type Reply, type Visitor } from "./signed-in.ts";

export type Operators = Record<Role, Visitor> & {
  /** `path`: behind `/console/api/operator/`. */
  ask(role: Role, method: string, path: string, body?: unknown): Promise<Reply>;
};

/** Each has the address of their role, `viewer@example.com`. */
export const openOperators = async (house: House): Promise<Operators> => {
  const people: Record<Role, Visitor> = {
    member: await openVisitor(house, "member", house.tenant, "member@example.com"),
    viewer: await openVisitor(house, "viewer", null, "viewer@example.com"),
    operator: await openVisitor(house, "operator", null, "operator@example.com"),
  };
  return {
    ...people,
    ask: (role, method, path, body) => people[role].ask(method, `/console/api/operator/${path}`, body),
  };
};
