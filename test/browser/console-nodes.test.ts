// Several nodes in a browser: the node list of the service page, and pages that follow generations of another node.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import type { NodeLine, ServiceView } from "../../src/console/operator-dto.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { eventually } from "../eventually.ts";
import type { GenerationResource, Harness } from "../harness.ts";
import { type HarnessOfNodes, openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openBrowser } from "./chromium.ts";
import { LOOKS, watch } from "./watched.ts";

const opened = await openBrowser();
const reason = typeof opened === "string" ? opened : postgresReason;
if (reason !== undefined) process.stdout.write(`skipped: several nodes in a browser (${reason})\n`);
const here = describe.skipIf(reason !== undefined);
const browser = opened as Browser;

let harness: HarnessOfNodes;
let one: Harness;
let two: Harness;
let operator: Visitor;
let nodes: NodeLine[];
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
});

const submitToTwo = async (prompt: string): Promise<string> => {
  const headers = { authorization: `Bearer ${harness.tenant.key}` };
  const body = JSON.stringify({ model: "sim-image-1", input: { prompt } });
  const answer = await fetch(`${two.nodeUrl}/v1/generations`, { method: "POST", headers, body });
  return ((await answer.json()) as GenerationResource).id;
};
const visit = (path: string, look: BrowserContextOptions = {}) =>
  watch(browser, { url: one.nodeUrl, visitor: operator, path, look });

here("several nodes", () => {
  beforeAll(async () => {
    harness = await openHarnessOfNodes(3, { factor: 20 });
    const [first, second, third] = harness.each;
    if (!first || !second || !third) throw new Error("three nodes were wanted");
    [one, two] = [first, second];
    operator = await openVisitor({ ...one, url: one.nodeUrl }, "operator", harness.tenant);
    // The third node closes as in a drain.
    await third.crash();
    const { text } = await operator.ask("GET", "/console/api/operator/service");
    nodes = (JSON.parse(text) as ServiceView).nodes ?? [];
  }, 120_000);
  afterAll(() => harness.close());

  test.each(LOOKS)(
    "%o: the service page lists live and ended nodes and has no accessibility violation",
    async (look) => {
      const { page, sound, complaints, close } = await visit("/console/operator/service", { ...look, bypassCSP: true });
      const alive = page.getByRole("table", { name: "Live nodes" });
      await alive.waitFor();
      expect(nodes.map(({ endedAtMs }) => endedAtMs === null)).toEqual([true, true, false]);
      for (const { name } of nodes.slice(0, 2)) expect(await alive.getByText(name).count()).toBe(1);
      expect(await alive.getByText("this node").count()).toBe(1);
      const ended = page.getByRole("table", { name: "Nodes that ended in the last 7 days" });
      expect(await ended.getByText(nodes[2]?.name ?? "none").count()).toBe(1);
      expect(await ended.getByText("Stopped.").count()).toBe(1);
      await sound();
      expect(complaints).toEqual([]);
      await close();
    },
    90_000,
  );

  test("updates the page of a generation that another node runs, and its replay names that node", async () => {
    const id = await submitToTwo("a kite [sim:slow=60]");
    const { page, complaints, close } = await visit(`/console/generations/${id}`);
    await page.locator(`[data-id="${id}"][data-status="running"]`).waitFor();
    await page.locator(`[data-id="${id}"][data-status="succeeded"]`).waitFor();
    await page.goto(`${one.nodeUrl}/inspector/${id}`);
    await page.getByText(`Written by node ${nodes[1]?.name}.`).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 90_000);

  test("the live inspector lists a generation of another node and filters by node", async () => {
    const id = await submitToTwo("[sim:stuck]");
    await eventually(async () => (await two.store.findGeneration(id))?.status === "running", "the running generation");
    const { page, sound, complaints, close } = await visit("/inspector", { bypassCSP: true });
    const row = page.getByRole("button", { name: id }).first();
    await row.waitFor();
    await page.getByLabel("Node").selectOption(nodes[1]?.name ?? "");
    await row.waitFor();
    await page
      .getByText(/ in memory on this node/)
      .first()
      .waitFor();
    await page.getByLabel("Node").selectOption("");
    await sound();
    expect(complaints).toEqual([]);
    await close();
  }, 90_000);
});
