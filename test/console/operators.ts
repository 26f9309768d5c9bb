// A member, a viewer and an operator of a harness that call the operator endpoints of the console.
import type { Role } from "../../src/console/request-context.ts";
import type { Harness } from "../harness.ts";
import { openVisitor, type Reply, type Visitor } from "./signed-in.ts";

export type Operators = Record<Role, Visitor> & {
  /** `path`: after `/console/api/operator/`. */
  ask(role: Role, method: string, path: string, body?: unknown): Promise<Reply>;
};

/** The address of each is its role, for example `viewer@example.com`. */
export const openOperators = async (harness: Harness): Promise<Operators> => {
  const users: Record<Role, Visitor> = {
    member: await openVisitor(harness, "member", harness.tenant, "member@example.com"),
    viewer: await openVisitor(harness, "viewer", null, "viewer@example.com"),
    operator: await openVisitor(harness, "operator", null, "operator@example.com"),
  };
  return {
    ...users,
    ask: (role, method, path, body) => users[role].ask(method, `/console/api/operator/${path}`, body),
  };
};
