// Tests of the inspector in a cluster: a viewer of one node receives the transitions of all nodes, in order and with their node.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import { replay } from "../../actors/replay/replay.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { readGenerationHistory } from "../../src/inspector/generation-history.ts";
import { nodeName } from "../../src/store/cluster-port.ts";
import { eventually } from "../eventually.ts";
import type { GenerationResource, Harness } from "../harness.ts";
import { type HarnessOfNodes, openHarnessOfNodes } from "../harness-nodes.ts";
import { connectViewer, socketUrl, type Viewer } from "../inspector/viewer.ts";
import { postgresReason } from "../postgres/binaries.ts";

const IMAGE = "sim-image-1";
const LEASE_MS = 2500;

/** Submits to one node, without the load balancer. */
const submitTo = async (node: Harness, harness: Harness, input: JsonObject): Promise<GenerationResource> => {
  const answer = await fetch(`${node.nodeUrl}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${harness.tenant.key}` },
    body: JSON.stringify({ model: IMAGE, input }),
  });
  expect(answer.status).toBe(202);
  return (await answer.json()) as GenerationResource;
};
const at = ({ nodeUrl: own }: Harness) => ({ url: own });
const nameOf = async (node: Harness): Promise<string> => {
  const epoch = node.store.node?.epoch ?? 0;
  const row = (await node.store.nodes?.list(0))?.find((one) => one.epoch === epoch);
  if (!row) throw new Error(`no node ${epoch}`);
  return nodeName(row);
};
const eventsOf = async (harness: Harness, id: string) => {
  const { seq } = (await harness.store.findGeneration(id)) ?? { seq: 0 };
  return harness.store.eventsOf(seq);
};
const versionsOf = (length: number) => Array.from({ length }, (_, before) => before + 1);

describe.skipIf(postgresReason !== undefined)("the inspector of one of three nodes", () => {
  let harness: HarnessOfNodes;
  let one: Harness;
  let two: Harness;
  let three: Harness;
  const open = async (leaseMs?: number, env: Record<string, string> = {}) => {
    harness = await openHarnessOfNodes(3, { factor: 20, env }, leaseMs);
    const [first, second, third] = harness.each;
    if (!first || !second || !third) throw new Error("expected three nodes");
    [one, two, three] = [first, second, third];
  };
  afterEach(() => harness.close());

  describe("while all nodes are alive", () => {
    beforeEach(() => open(), 120_000);

    test("shows every transition of a generation on another node, in order and with the name of that node", async () => {
      const eye = await connectViewer(at(one));
      const { id } = await submitTo(two, harness, { prompt: "canary-elsewhere" });
      await eventually(() => eye.rows.get(id)?.actor === "ended", "its end");
      const events = await eventsOf(harness, id);
      const name = await nameOf(two);
      const seen = eye.events.filter((event) => event.id === id);
      expect(seen.map(({ version }) => version)).toEqual(versionsOf(events.length));
      expect(seen.map(({ type, to }) => [type, to])).toEqual(events.map(({ event, stateAfter }) => [event.type, stateAfter]));
      expect(seen.map(({ from }) => from)).toEqual(["queued", ...events.slice(0, -1).map(({ stateAfter }) => stateAfter)]);
      expect(new Set(seen.map(({ node }) => node))).toEqual(new Set([name]));
      expect(eye.rows.get(id)).toMatchObject({ node: name, state: "succeeded", model: IMAGE, attempts: 1 });
      expect(eye.rows.get(id)?.account?.id).toBe(harness.tenant.accountId);
      expect(eye.texts.join()).not.toContain("canary");
      await eye.close();
    }, 60_000);

    test("sends the same Stately frames on every node: the actor, each event and each snapshot", async () => {
      const got = [two, three].map((node) => {
        const events: StatelyInspectionEvent[] = [];
        createWebSocketReceiver({ server: socketUrl(at(node), "/inspector/ws") }).subscribe((event) => void events.push(event));
        return events;
      });
      // Each viewer receives the ledger actor of its node when it connects.
      await eventually(() => got.every((events) => events.some(({ sessionId }) => sessionId === "ledger")), "both viewers");
      const { id } = await submitTo(two, harness, { prompt: "canary-frames" });
      const of = (events: StatelyInspectionEvent[]) => events.filter(({ sessionId }) => sessionId === id);
      const isOver = (events: StatelyInspectionEvent[]) =>
        of(events).some((event) => event.type === "@xstate.snapshot" && event.snapshot.status === "done");
      await eventually(() => got.every(isOver), "its end at both viewers");
      const [own = [], theirs = []] = got.map((events) =>
        of(events).flatMap((event) => (event.type === "@xstate.actor" ? [] : [JSON.parse(JSON.stringify(event)) as JsonObject])),
      );
      const storedEvents = await eventsOf(harness, id);
      expect(theirs.map(({ type }) => type)).toEqual(storedEvents.flatMap(() => ["@xstate.event", "@xstate.snapshot"]));
      expect(theirs).toEqual(own);
      expect(JSON.stringify(theirs)).toContain('"request":"hidden"');
      const machine = of(got[1] ?? []).find((event) => event.type === "@xstate.actor");
      expect(machine).toMatchObject({ name: id, rootId: id, node: await nameOf(two) } as object);
      expect(JSON.stringify(got)).not.toContain("canary");
    }, 60_000);

    test("shows a viewer that connects late the generations of all nodes and their totals", async () => {
      const made = await Promise.all([one, two, three].map((node) => submitTo(node, harness, { prompt: "[sim:stuck]" })));
      for (const { id } of made) await harness.until(id, ({ status }) => status === "running");
      const eye = await connectViewer(at(three));
      await eventually(() => made.every(({ id }) => eye.rows.get(id)?.actor === "live"), "all three generations");
      const names = await Promise.all([one, two, three].map(nameOf));
      expect(made.map(({ id }) => eye.rows.get(id)?.node)).toEqual(names);
      expect(made.map(({ id }) => eye.rows.get(id)?.model)).toEqual([IMAGE, IMAGE, IMAGE]);
      const totals = await eventually(() => eye.batches.findLast((batch) => batch.totals?.running === 3)?.totals, "the totals");
      expect(totals).toMatchObject({ running: 3, queued: 0, live: 1, nodes: 3 });
      const [first] = made;
      eye.say({ choose: first?.id });
      const chosen = await eventually(
        () => eye.batches.findLast((batch) => batch.chosen?.history)?.chosen,
        "the chosen generation",
      );
      expect(chosen.context).toMatchObject({ tried: 1 });
      expect(chosen.history?.map(({ node }) => node)).toEqual((await eventsOf(harness, first?.id ?? "")).map(() => names[0]));
      await eye.close();
    }, 60_000);

    test("reads nothing of other nodes without a viewer", async () => {
      const asked: string[] = [];
      const { others } = one.store.node ?? {};
      if (!others) throw new Error("the store has no node");
      const written = others.written;
      others.written = () => {
        asked.push("written");
        return written();
      };
      await harness.until((await submitTo(two, harness, { prompt: "unseen" })).id);
      expect(asked).toEqual([]);
      const eye = await connectViewer(at(one));
      await eventually(() => asked.length > 2, "reads of other nodes");
      await eye.close();
      await eventually(() => one.components.watch.committed === null, "the end of watching");
      const before = asked.length;
      await harness.until((await submitTo(two, harness, { prompt: "unseen" })).id);
      // One read may have been in progress.
      expect(asked.length).toBeLessThanOrEqual(before + 1);
    }, 60_000);
  });

  test("shows the provider request of another node if inspector.prompts is enabled", async () => {
    await open(undefined, { GENROUTER_INSPECTOR__PROMPTS: "true" });
    const eye = await connectViewer(at(one));
    const { id } = await submitTo(three, harness, { prompt: "canary-shown" });
    await eventually(() => eye.rows.get(id)?.actor === "ended", "its end");
    const requests = eye.events.flatMap((event) =>
      event.id === id && event.more?.request !== undefined ? [event.more.request] : [],
    );
    expect(requests).toEqual([expect.stringContaining("canary-shown")]);
    await eye.close();
  }, 120_000);

  describe("when one node stops renewing its lease", () => {
    beforeEach(() => open(LEASE_MS), 120_000);

    test("shows in live view and replay which node made each transition of a generation that another node takes over", async () => {
      // Either of the two can take it over: one viewer is then at that node, the other at a node that follows it.
      const eyes = [await connectViewer(at(one)), await connectViewer(at(three))];
      const everywhere = (holds: (eye: Viewer) => boolean, what: string) => eventually(() => eyes.every(holds), what);
      const { id } = await submitTo(two, harness, { prompt: "[sim:slow=80]" });
      await everywhere((eye) => eye.rows.get(id)?.state === "running.polling", "its job");
      const [dead, alive] = [await nameOf(two), [await nameOf(one), await nameOf(three)]];
      two.components.leaseKeeper?.stop();
      await everywhere((eye) => alive.includes(eye.rows.get(id)?.node ?? ""), "the takeover");
      await everywhere((eye) => eye.rows.get(id)?.actor === "ended", "its end");
      const storedEvents = await eventsOf(harness, id);
      const life = await readGenerationHistory(one.store, id, 600_000);
      if (!life) throw new Error("the generation has no history");
      const replayed = replay(life.given);
      expect(replayed.faults).toEqual([]);
      const writers = replayed.steps.slice(1).map(({ node }) => node ?? "");
      for (const { events } of eyes) {
        const seen = events.filter((event) => event.id === id);
        expect(seen.map(({ version }) => version)).toEqual(versionsOf(storedEvents.length));
        expect(seen.map(({ node }) => node ?? "?")).toEqual(writers);
      }
      expect(writers[0]).toBe(dead);
      expect(alive).toContain(writers.at(-1) ?? "");
    }, 60_000);
  });
});
