// Membership of this process in the cluster: lease keeper, id range and invalidation of caches.
import { hostname } from "node:os";
import type { Clock } from "../domain/clock.ts";
import { createGenerationNames, type NameGeneration } from "../domain/ids.ts";
import type { Log } from "../logging/events.ts";
import { type Node, type NodeReads, nodeName } from "../store/cluster-port.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
import { createRemoteChanges, type RemoteChanges } from "./remote-changes.ts";
import type { Takeover } from "./takeover.ts";

export type MembershipDeps = {
  /** Null if this process is the only writer. */
  node: Node | null;
  reads: { nodes: NodeReads | null; newestGeneration: number };
  clock: Clock;
  /** Monotonic time in milliseconds that also passes during a suspension; default: the machine's. */
  monoMs?: () => number;
  log: Log;
  engine: () => Takeover;
  /** Called when the admin service of another node changed keys, accounts or users. */
  changed: () => void;
  /** Called when another node has taken over: the process must end. */
  ended: () => void;
};
export type Membership = {
  leaseKeeper: LeaseKeeper | null;
  /** Changes of other nodes, for viewers. */
  remoteChanges: RemoteChanges | null;
  nameGeneration: NameGeneration;
  /** Called after an admin change of any node; null if there is no listener. */
  admin: { changed: (() => void) | null };
  /** Announces that this node leaves. Load balancers have `noticeMs` to notice, if another node stays. */
  leave: (noticeMs: number) => Promise<void>;
  /** Number of live nodes that this node knows; 1 without a cluster. */
  alive: () => number;
  /** Number of nodes that share singleton resources: nodes that stay. */
  nodes: () => number;
  /** Whether another node continues what this one leaves, as far as known. While a last query is pending, the answer is yes. */
  isAnotherThere: () => boolean;
};

export const createMembership = (deps: MembershipDeps): Membership => {
  const { node, clock, monoMs, log, engine, changed, ended } = deps;
  const { nodes: known, newestGeneration } = deps.reads;
  const nameGeneration = createGenerationNames(node?.slot ?? null, newestGeneration);
  const admin: Membership["admin"] = { changed: null };
  if (node === null || known === null)
    return {
      ...{ leaseKeeper: null, remoteChanges: null, admin, leave: () => Promise.resolve(), nameGeneration },
      alive: () => 1,
      nodes: () => 1,
      isAnotherThere: () => false,
    };
  let alive = 1;
  let others = 0;
  /** A node that joined after the last query is not known yet, and no request is refused because of that. */
  let isRequesting = false;
  const failing =
    (event: string) =>
    (fault: unknown): void =>
      log("cluster task failed", { event, reason: fault instanceof Error ? fault.message : String(fault) });
  const failed = failing("adopting");
  const leaseKeeper = createLeaseKeeper({
    ...{ node, clock, log, ended, monoMs: monoMs ?? (() => performance.now()) },
    takeUp: (seqs) => engine().takeUp(seqs),
    looked: async (around) => {
      ({ alive, others } = around);
      if (others > 0) await engine().adoptHealth().catch(failed);
      if (around.hasHints) await engine().takeHints().catch(failed);
    },
    changed: async () => {
      changed();
      admin.changed?.();
      await engine().adoptSwitches().catch(failed);
    },
  });
  const remoteChanges = createRemoteChanges({
    ...{ others: node.others, names: known.names, clock, failed: failing("looking at other nodes") },
    own: nodeName({ host: hostname(), slot: node.slot, epoch: node.epoch }),
  });
  return {
    ...{ leaseKeeper, remoteChanges, admin, nameGeneration },
    leave: async (noticeMs) => {
      isRequesting = true;
      await leaseKeeper.leave().finally(() => {
        isRequesting = false;
      });
      if (others > 0 && noticeMs > 0) await new Promise<void>((over) => clock.after(noticeMs, over));
    },
    ...{ alive: () => alive, nodes: () => others + 1, isAnotherThere: () => isRequesting || others > 0 },
  };
};
