// This process among the nodes of its store: its lease keeper, its share of the numbers, and how what others change reaches it.
import { hostname } from "node:os";
import type { CoreDeps } from "../app/core-types.ts";
import type { Clock } from "../domain/clock.ts";
import { createSequence, generationId, newGeneration } from "../domain/ids.ts";
import type { Log } from "../logging/events.ts";
import { type Node, type NodeReads, nodeName } from "../store/cluster-port.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
import { createRemoteChanges, type RemoteChanges } from "./remote-changes.ts";
import type { Sharing } from "./takeover.ts";

export type MembershipDeps = {
  /** Null: nobody else writes. */
  node: Node | null;
  reads: { nodes: NodeReads | null };
  clock: Clock;
  /** Time that passes also while this process is stopped, ms; where it is to differ from the machine's. */
  monoMs?: () => number;
  log: Log;
  engine: () => Sharing;
  /** The admin service of another node has changed what is remembered of keys, accounts and people. */
  changed: () => void;
  /** Another node has taken over: the process has to end. */
  ended: () => void;
};
export type Membership = {
  leaseKeeper: LeaseKeeper | null;
  /** What the other nodes do, for whoever looks on. */
  neighbours: RemoteChanges | null;
  nameGeneration: CoreDeps["nameGeneration"];
  /** Told when the admin service of some node has changed something; null: nobody wants to know. */
  admin: { changed: (() => void) | null };
  /** Tells the others that this node goes; what is in front of them has so long to find out, if another stays. */
  leave: (noticeMs: number) => Promise<void>;
  /** How many nodes are alive, as far as it was heard; 1 where there is none other. */
  alive: () => number;
  /** How many share what there is only once: those that stay. */
  nodes: () => number;
  /** Whether another goes on with what this one leaves, as far as it was heard; while that is asked for the last time, it may be. */
  isAnotherThere: () => boolean;
};

/** Names generations with this node's share of the numbers, above all that there were. */
const namesFrom = ({ slot, newestGeneration }: Node): CoreDeps["nameGeneration"] => {
  const numbers = createSequence(slot);
  numbers.continueAfter(newestGeneration);
  return (nowMs) => {
    const seq = numbers.next(nowMs);
    return { seq, id: generationId(seq) };
  };
};

export const createMembership = (deps: MembershipDeps): Membership => {
  const { node, clock, monoMs, log, engine, changed, ended } = deps;
  const { nodes: known } = deps.reads;
  const admin: Membership["admin"] = { changed: null };
  if (node === null || known === null)
    return {
      ...{ leaseKeeper: null, neighbours: null, admin, leave: () => Promise.resolve(), nameGeneration: newGeneration },
      alive: () => 1,
      nodes: () => 1,
      isAnotherThere: () => false,
    };
  let alive = 1;
  let others = 0;
  /** One that came since the last look has not been heard of yet, and nobody is to be refused because of that. */
  let isAsking = false;
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
  const neighbours = createRemoteChanges({
    ...{ others: node.others, names: known.names, clock, failed: failing("looking at other nodes") },
    own: nodeName({ host: hostname(), slot: node.slot, epoch: node.epoch }),
  });
  return {
    ...{ leaseKeeper, neighbours, admin, nameGeneration: namesFrom(node) },
    leave: async (noticeMs) => {
      isAsking = true;
      await leaseKeeper.leave().finally(() => {
        isAsking = false;
      });
      if (others > 0 && noticeMs > 0) await new Promise<void>((over) => clock.after(noticeMs, over));
    },
    ...{ alive: () => alive, nodes: () => others + 1, isAnotherThere: () => isAsking || others > 0 },
  };
};
