// Operator of a simulated world: decides about generations at any node and any time.

import { storedLeaf } from "../../../actors/generation/snapshot.ts";
import { AdminError } from "../../admin/admin-error.ts";
import type { Decided } from "../../admin/generations.ts";
import type { Decision } from "../../domain/operator-decision.ts";
import type { OpenGeneration } from "../../domain/transition.ts";
import type { StoreReads } from "../../store/store.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import type { Node } from "./node-environment.ts";
import type { Rng } from "./rng.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** A decision of an operator and its known outcome. */
export type Order = {
  id: string;
  seq: number;
  decision: Decision;
  /** Unique to this order. */
  reason: string;
  requestedAtMs: number;
  /** The generation had already ended. */
  wasOver: boolean;
  /** Null: no response arrived, because the process ended or could not reach its store. */
  answer: Decided | null;
  /** The error of the admin service. */
  refused: string | null;
};

const DECISIONS: readonly Decision[] = ["settle", "settle", "fail", "retry"];
/** The principal of all orders. */
export const OPERATOR = { kind: "user", id: "per_1", name: "Ada" } as const;
const TURN_MS = 30_000;
/** While quiescing, parked generations are decided in turn until they end. */
const isParked = ({ snapshot }: OpenGeneration): boolean => storedLeaf(snapshot) === "running.parked";
const isUndecided = ({ snapshot }: OpenGeneration): boolean => /parked|confirming/.test(storedLeaf(snapshot) ?? "");

export const openOperator = (parts: {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  nodes: readonly Node[];
  reads: StoreReads;
  faults: () => Faults;
  isPeace: () => boolean;
  situations: CoverageCounters;
}) => {
  const { world, trace, dice, nodes, reads, situations } = parts;
  const orders: Order[] = [];
  let known: { id: string; seq: number }[] = [];

  /** Sends the order to a node that responds. */
  const order = async ({ id, seq }: { id: string; seq: number }, decision: Decision): Promise<void> => {
    const up = nodes.filter((node) => node.admin());
    const node = up.length > 0 ? dice.pick(up) : undefined;
    const admin = node?.admin();
    if (!node || !admin) return;
    const reason = `order ${orders.length + 1}`;
    const attempt = decision === "settle" && dice.chance(0.5) ? dice.whole(1, 3) : null;
    const made: Order = { id, seq, decision, reason, requestedAtMs: world.nowMs(), wasOver: false, answer: null, refused: null };
    orders.push(made);
    made.wasOver = ((await reads.generationBySeq(seq))?.completedAtMs ?? null) !== null;
    trace.report("operator", decision, id, `${reason} at ${node.name}${attempt === null ? "" : `, attempt ${attempt}`}`);
    try {
      made.answer = await admin.decideGeneration({ id, decision, attempt, reason, by: OPERATOR });
      trace.report("operator", "answer", reason, `${made.answer.state} ${made.answer.isTaken ? "taken" : "not taken yet"}`);
    } catch (fault) {
      if (!(fault instanceof AdminError)) return;
      made.refused = fault.message;
      situations.count("decisionsRefused");
      trace.report("operator", "refused", reason, fault.message);
    }
  };

  const decide = async (): Promise<void> => {
    const open = await reads.unfinished(0, 50);
    known = open.length > 0 ? open.map(({ id, seq }) => ({ id, seq })) : known;
    const waiting = open.filter(isUndecided);
    const among = dice.chance(0.1) ? known : waiting.length > 0 && dice.chance(0.8) ? waiting : open;
    if (among.length === 0) return;
    const one = dice.pick(among);
    // Simulates two operators, or one that received no response.
    if (dice.chance(0.25)) world.after(dice.pick([0, 3_000]) * dice.roll(), () => void order(one, dice.pick(DECISIONS)));
    await order(one, dice.pick(DECISIONS));
  };
  const endParked = async (): Promise<void> => {
    for (const one of await reads.unfinished(0, 50)) {
      if (!isParked(one)) continue;
      if (nodes.some((node) => node.admin())) situations.count("parkedInPeace");
      await order(one, dice.pick(["settle", "fail", "fail", "retry"]));
    }
  };
  const turn = () => {
    if (parts.isPeace()) void endParked();
    else if (dice.chance(Math.max(parts.faults().decision, parts.faults().refusedCapture)))
      world.after(TURN_MS * dice.roll(), () => void decide());
    world.after(TURN_MS, turn);
  };
  return { begin: () => void world.after(TURN_MS * dice.roll(), turn), orders: orders as readonly Order[] };
};
