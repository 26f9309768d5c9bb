// Sends requests of clients to nodes, as a load balancer selects them.
import type { Node } from "./node-environment.ts";
import type { Rng } from "./rng.ts";
import type { Timeline } from "./timeline.ts";

/** After this time a client considers its request unanswered. */
const MAX_ANSWER_MS = 20_000;

/**
 * Sends one request to a service of any node that responds; undefined if no response arrived.
 * @param serviceOf the service of a node; undefined while it is down
 */
export type SendRequest = <S, T>(
  serviceOf: (node: Node) => S | undefined,
  request: (service: S) => Promise<T>,
) => Promise<T | undefined>;

/** @param dice selects among one node */
export const createRequests = (of: { world: Timeline; dice: Rng; nodes: readonly Node[] }): SendRequest => {
  const { world, dice, nodes } = of;
  const sleep = (ms: number) => new Promise<undefined>((wake) => world.after(ms, () => wake(undefined)));
  let turn = 0;
  const reach = () => {
    if (nodes.length === 1) return dice.pick(nodes);
    turn += 1;
    const inTurn = nodes.map((_, at) => nodes[(turn + at) % nodes.length]);
    return inTurn.find((node) => node?.engine()) ?? nodes[0];
  };
  return async (serviceOf, request) => {
    const node = reach();
    const service = node && serviceOf(node);
    if (!service) return undefined;
    // A stopped process handles the request after it resumes, even if the client no longer waits.
    const answered = async () => {
      if (nodes.length > 1) await node.life()?.awake();
      return await request(service);
    };
    // An exception corresponds to a 500, which proves nothing.
    const answer = await Promise.race([answered().catch(() => undefined), sleep(MAX_ANSWER_MS)]);
    return answer ?? undefined;
  };
};

/** Repeats a request until a response arrives. */
export const untilAnswered = async <T>(world: Timeline, dice: Rng, send: () => Promise<T | undefined>): Promise<T> => {
  for (;;) {
    const answer = await send();
    if (answer !== undefined) return answer;
    await new Promise<void>((wake) => world.after(dice.between(500, 5_000), wake));
  }
};
