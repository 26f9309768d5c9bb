// Passes the principal of each admin request to the mutations that it makes.
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult, Principal } from "../domain/mutations.ts";

type Post = (mutation: AdminMutation) => Promise<AdminResult>;
/** The methods of the admin service, each with `by` in its argument. */
export type WithPrincipal<Methods> = {
  [M in keyof Methods]: Methods[M] extends (ask: infer AdminRequest) => infer Answer
    ? (request: AdminRequest & { by?: Principal }) => Answer
    : never;
};

/**
 * @param open creates the admin service for a function that commits mutations; each mutation then includes the principal (null:
 * unknown).
 */
export const withPrincipal = <Methods extends object>(
  open: (post: Post, by: Principal | null) => Methods,
  post: Post,
  clock: Clock,
): WithPrincipal<Methods> => {
  const plain = open(post, null);
  const nameOf = (name: string) => name as keyof Methods;
  const methods = Object.keys(plain).map((name): [string, (request: { by?: Principal }) => unknown] => [
    name,
    ({ by, ...request }) => {
      const admin = by ? open((mutation) => post({ ...mutation, atMs: mutation.atMs ?? clock.nowMs(), by }), by) : plain;
      return (admin[nameOf(name)] as (ask: object) => unknown)(request);
    },
  ]);
  return Object.fromEntries(methods) as WithPrincipal<Methods>;
};
