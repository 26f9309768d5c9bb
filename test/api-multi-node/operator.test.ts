// Tests of the console and the command line in a cluster: events of other nodes, and the list of nodes.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NodeLine, ServiceView } from "../../src/console/operator-dto.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Ear, listenTo } from "../console/event-listener.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { eventually } from "../eventually.ts";
import type { GenerationResource, Harness, Tenant } from "../harness.ts";
import { type HarnessOfNodes, openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { BUYER } from "../store/purchases.ts";

const LEASE_MS = 2500;

describe.skipIf(postgresReason !== undefined)("the console of one of three nodes", () => {
  let harness: HarnessOfNodes;
  let one: Harness;
  let two: Harness;
  let three: Harness;
  let member: Visitor;
  let operator: Visitor;
  const opened = async (leaseMs?: number) => {
    harness = await openHarnessOfNodes(3, { factor: 20 }, leaseMs);
    const [first, second, third] = harness.each;
    if (!first || !second || !third) throw new Error("expected three nodes");
    [one, two, three] = [first, second, third];
    const here = { ...one, url: one.nodeUrl };
    member = await openVisitor(here, "member", harness.tenant);
    operator = await openVisitor(here, "operator", null);
  };
  afterEach(async () => {
    await harness.close();
    dropDirs();
  });
  const submitTo = async (node: Harness, prompt: string, { key }: Tenant = harness.tenant): Promise<string> => {
    const body = JSON.stringify({ model: "sim-image-1", input: { prompt } });
    const answer = await fetch(`${node.nodeUrl}/v1/generations`, {
      ...{ method: "POST", headers: { authorization: `Bearer ${key}` }, body },
    });
    expect(answer.status).toBe(202);
    return ((await answer.json()) as GenerationResource).id;
  };
  const statuses = ({ heard }: Ear, id: string) =>
    heard.flatMap(({ event, reported }) => (event === "generation" && reported.id === id ? [reported.status] : []));
  const nodesShown = async (): Promise<NodeLine[]> => {
    const { status, text } = await operator.ask("GET", "/console/api/operator/service");
    expect(status).toBe(200);
    return (JSON.parse(text) as ServiceView).nodes ?? [];
  };
  const nodesReported = async () => {
    const { exit, out, err } = await runHere(["nodes", "--json"], { GENROUTER_STORE__URL: harness.databaseUrl });
    expect([exit as number, err]).toEqual([0, ""]);
    return JSON.parse(out) as { shared: boolean; served: boolean; nodes: Record<string, unknown>[] };
  };

  describe("while all nodes are alive", () => {
    beforeEach(() => opened(), 120_000);

    test("forwards an operator's decision to the node that owns the generation", async () => {
      const id = await submitTo(two, "a kite [sim:slow=86400]");
      const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
      await eventually(async () => (await harness.store.eventsOf(seq)).at(-1)?.stateAfter === "running.polling", "its job");
      await (await one.admin()).decideGeneration({ id, decision: "fail", attempt: null, reason: "seen at the provider" });
      await eventually(async () => (await harness.store.generationBySeq(seq))?.status === "failed", "its end");
      const last = (await harness.store.eventsOf(seq)).at(-1);
      expect(last?.event).toMatchObject({ type: "failedByOperator", reason: "seen at the provider" });
      await eventually(async () => (await two.store.node?.hints())?.length === 0, "an empty inbox of its owner");
    });

    test("sends events of a generation and its balance on another node to its account and to operators only", async () => {
      const others = await openVisitor({ ...one, url: one.nodeUrl }, "member", await harness.newTenant());
      const mine = await listenTo(one.nodeUrl, member.cookie);
      const theirs = await listenTo(one.nodeUrl, others.cookie);
      const all = await listenTo(one.nodeUrl, operator.cookie, "?account=*");
      const id = await submitTo(two, "a kite [sim:slow=5]");
      await eventually(() => statuses(mine, id).includes("succeeded") && statuses(all, id).includes("succeeded"), "its end");
      expect(statuses(mine, id)).toContain("running");
      const { available } = await harness.balance();
      await eventually(
        () =>
          mine.heard.some(
            ({ event, reported }) => event === "balance" && reported.availableCredits === available && reported.heldCredits === 0,
          ),
        "the balance",
      );
      for (const ours of [id, harness.tenant.accountId]) expect(JSON.stringify(theirs.heard)).not.toContain(ours);
      expect(all.heard.some(({ event }) => event === "balance")).toBe(false);
      expect(JSON.stringify(all.heard)).not.toMatch(/replicate|fal/);
      for (const ear of [mine, theirs, all]) ear.leave();
      await eventually(() => one.components.watch.committed === null, "the end of watching");
    }, 60_000);

    test("sends events of credits, a pause and a purchase that were committed on other nodes", async () => {
      const ear = await listenTo(one.nodeUrl, member.cookie);
      const { accountId, accountSeq } = harness.tenant;
      const balances = () => ear.heard.flatMap(({ event, reported }) => (event === "balance" ? [reported] : []));
      const more = { kind: "topup", note: "", reference: null, atMs: harness.clock.nowMs() } as const;
      await two.components.post({ mutation: "credit", accountSeq, credits: 500, ...more });
      await eventually(() => balances().at(-1)?.availableCredits === 100_500, "the credits");
      const { purchaseId } = await three.components.checkout.buy({ accountId, by: BUYER, usd: 10 });
      const states = () =>
        ear.heard.flatMap(({ event, reported }) => (event === "purchase" && reported.id === purchaseId ? [reported.state] : []));
      await eventually(() => states().at(-1) === "open", "the purchase");
      await three.components.checkout.endTest(purchaseId, "pay", BUYER);
      await eventually(() => states().at(-1) === "paid" && balances().at(-1)?.availableCredits === 101_500, "the payment");
      await two.components.post({ mutation: "set-account", accountSeq, paused: true });
      await eventually(() => balances().at(-1)?.paused === true, "the pause");
      ear.leave();
    }, 60_000);

    test("lists every node with its queued and running generations on the service page and the command line", async () => {
      const made = [await submitTo(one, "[sim:stuck]"), await submitTo(two, "[sim:stuck]"), await submitTo(two, "[sim:stuck]")];
      for (const id of made) await harness.until(id, ({ status }) => status === "running");
      const shown = await nodesShown();
      expect(shown.map(({ isThis, running, queued, endedAtMs }) => [isThis, running, queued, endedAtMs])).toEqual([
        [true, 1, 0, null],
        [false, 2, 0, null],
        [false, 0, 0, null],
      ]);
      for (const { leaseEndsInMs, pid } of shown)
        expect([leaseEndsInMs !== null && leaseEndsInMs > 0, pid]).toEqual([true, process.pid]);
      const { reported } = await operator.ask("GET", "/console/api/operator/service");
      expect(reported).toMatchObject({ running: 3, queued: 0 });
      const said = await nodesReported();
      expect(said).toMatchObject({ shared: true, served: true });
      expect(said.nodes.map(({ node, running, alive }) => [node, running, alive])).toEqual(
        shown.map(({ name, running }) => [name, running, true]),
      );
      const { out } = await runHere(["nodes"], { GENROUTER_STORE__URL: harness.databaseUrl });
      expect(out).toMatch(/^NODE +PID +SINCE +LEASE ENDS +QUEUED +RUNNING +TOOK OVER$/m);
      expect(out).not.toContain("ENDED");
      const traced = await runHere(["trace", made[1] ?? "", "--json"], { GENROUTER_STORE__URL: harness.databaseUrl });
      const { events } = JSON.parse(traced.out) as { events: { version?: number; node?: string }[] };
      const steps = events.filter(({ version }) => version !== undefined);
      expect(steps.map(({ node }) => node)).toEqual(steps.map(() => shown[1]?.name));
    }, 60_000);

    test("exports the number of live nodes in the metrics of each node", async () => {
      const text = await (await fetch(`${two.nodeUrl}/metrics`)).text();
      expect(text).toMatch(/^genrouter_nodes_alive 3$/m);
      expect(text).toMatch(/^genrouter_generations_reclaimed_total 0$/m);
    }, 60_000);
  });

  describe("when one node stops renewing its lease", () => {
    beforeEach(() => opened(LEASE_MS), 120_000);

    test("lists it as ended with the node that took over and the count, and sends events of the generation until its end", async () => {
      const ear = await listenTo(one.nodeUrl, member.cookie);
      const id = await submitTo(two, "[sim:slow=80]");
      await harness.until(id, ({ status }) => status === "running");
      const [, silent] = await nodesShown();
      two.components.leaseKeeper?.stop();
      const ended = await eventually(async () => {
        const found = (await nodesShown()).find(({ epoch }) => epoch === silent?.epoch);
        return found?.takenOver === 1 && found.running === 0 && found;
      }, "the takeover");
      const alive = (await nodesShown()).filter(({ endedAtMs }) => endedAtMs === null);
      expect(ended).toMatchObject({ name: silent?.name, leaseEndsInMs: null, running: 0 });
      expect(ended.endedAtMs).not.toBeNull();
      expect(alive.map(({ name }) => name)).toContain(ended.endedBy ?? "no node");
      expect(alive.map(({ tookOver }) => tookOver).sort()).toEqual([0, 1]);
      await eventually(() => statuses(ear, id).at(-1) === "succeeded", "its end");
      const said = await nodesReported();
      expect(said.nodes.at(-1)).toMatchObject({
        ...{ node: silent?.name, alive: false, taken_over: 1, ended_by: ended.endedBy, lease_ends_in_s: null },
      });
      const url = { GENROUTER_STORE__URL: harness.databaseUrl };
      expect((await runHere(["nodes"], url)).out).toContain(`lease expired; fenced by ${ended.endedBy}`);
      const taker = alive.find(({ tookOver }) => tookOver === 1);
      expect((await runHere(["trace", id], url)).out).toMatch(new RegExp(`  taken over .*node=${taker?.name} at=`));
      ear.leave();
    }, 60_000);
  });
});

test("genrouter nodes reports that a data directory has a single writer", async () => {
  const { openDirectory } = await import("../store/open-store.ts");
  const dir = freshDir();
  const store = await openDirectory({ dir, mode: "test" });
  await store.close();
  const said = await runHere(["nodes", "--data", dir]);
  expect([said.exit as number, said.out.trim()]).toEqual([
    0,
    `a data directory has a single writer: a service does not run on ${dir}`,
  ]);
  expect(JSON.parse((await runHere(["nodes", "--data", dir, "--json"])).out)).toEqual({
    shared: false,
    served: false,
    nodes: [],
  });
  dropDirs();
});
