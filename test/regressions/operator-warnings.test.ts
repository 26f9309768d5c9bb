// Operator warnings: log, metrics and console name a fault and its remedy until it is fixed.
import { afterAll, afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { ServiceView } from "../../src/console/operator-dto.ts";
import { backUp, openOn, play } from "../backup/fixture.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openOperators } from "../console/operators.ts";
import { openVisitor } from "../console/signed-in.ts";
import { type Nodes, openNodes } from "../files/s3/nodes.ts";
import { type Harness, openHarness } from "../harness.ts";
import { scraped } from "../telemetry/scraped.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

afterAll(dropDirs, 60_000);

const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
const refusedAt = async (harness: Harness, provider: string) => {
  const { text } = await harness.request("GET", "/metrics", { key: null });
  return scraped(text).value("genrouter_routes_needing_operator", { provider, error_code: "config_fault" });
};
const warningsOf = async ({ ask }: Awaited<ReturnType<typeof openOperators>>) =>
  (JSON.parse((await ask("viewer", "GET", "service")).text) as ServiceView).warnings;

test("a rejected provider key sets genrouter_routes_needing_operator and a console warning until a key check succeeds", async () => {
  const harness = await openHarness();
  closing.push(harness.close);
  const operators = await openOperators(harness);
  expect([await refusedAt(harness, "fal"), await warningsOf(operators)]).toEqual([0, []]);
  harness.simulator.script({ fault: "401", provider: "fal" });
  expect(await harness.until((await harness.submit("vidmodel-2.0-fast", INPUT)).id)).toMatchObject({ status: "succeeded" });
  const count = Number(await refusedAt(harness, "fal"));
  expect(count).toBeGreaterThan(1);
  expect(await refusedAt(harness, "replicate")).toBe(0);
  const lines = harness.lines.filter(({ event }) => event === "route state changed" || event === "route needs operator");
  expect(lines.map(({ event, fields }) => [event, fields.count])).toEqual([
    ["route state changed", undefined],
    ["route needs operator", undefined],
    ["route state changed", count - 1],
  ]);
  expect(lines[1]?.fields.action).toStartWith("genrouter providers set-key fal");
  expect(await warningsOf(operators)).toEqual([
    expect.stringMatching(/^fal: config_fault: 401.*; \d+ routes are down: set another key/),
  ]);
  // The circuit breaker half-opens, but no response has proved that the key works.
  harness.clock.skip(700_000);
  await harness.eventually(() => harness.lines.some(({ fields }) => fields.state === "halfOpen"), "a half-open breaker");
  expect(await refusedAt(harness, "fal")).toBe(count);
  harness.simulator.clearScript();
  const [row] = await (await harness.admin()).listRoutes({ model: null, provider: "fal" });
  harness.simulator.script({ fault: "401", provider: "fal", times: 1 });
  await harness.until((await harness.submit("vidmodel-2.0-fast", INPUT)).id);
  expect(await (await harness.admin()).checkRoute({ id: row?.id ?? "" })).toMatchObject({ check: { kind: "works" } });
  expect([await refusedAt(harness, "fal"), await warningsOf(operators)]).toEqual([0, []]);
});

test("a bucket that rejects uploads is a console warning until it accepts files", async () => {
  const nodes: Nodes = await openNodes();
  closing.push(nodes.close);
  const harness = await nodes.open({ shared: false });
  const operators = await openOperators(harness);
  nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 403, code: "SignatureDoesNotMatch" } : undefined);
  expect((await nodes.picture(harness)).status).toBe("succeeded");
  await harness.eventually(async () => (await warningsOf(operators)).length > 0, "the warning");
  expect(await warningsOf(operators)).toEqual([
    expect.stringMatching(/^the bucket does not accept files(, \d+ wait on disk)?: .*GENROUTER_S3__SECRET_KEY.*genrouter doctor/),
  ]);
  expect(harness.lines.find(({ event }) => event === "object storage access denied")?.fields.action).toContain("restart");
  nodes.bucket.fail = () => undefined;
  nodes.clock.skip(600_000);
  await harness.eventually(async () => (await warningsOf(operators)).length === 0, "an empty list of warnings");
}, 60_000);

test("doctor, metric and console report a restored backup until an operator settles it", async () => {
  const data = freshDir();
  await play(data, 1);
  const { path } = backUp(data, freshDir());
  const restoredTo = async (): Promise<string> => {
    const to = join(freshDir(), "data");
    expect((await runHere(["backup", "restore", path, "--to", to, "--yes"])).exit as number).toBe(0);
    return to;
  };
  const to = await restoredTo();
  const found = async (dir: string) => {
    const { out } = await runHere(["doctor", "--data", dir, "--json"]);
    type Found = { area: string };
    return (JSON.parse(out) as { findings: Found[] }).findings.find(({ area }) => area === "restored");
  };
  expect(JSON.stringify(await found(to))).toMatch(
    /"warning".*genrouter reconcile PROVIDER --since .*genrouter backup settle --reason/,
  );
  let visits = 0;
  const reported = async () => {
    const harness = await openOn(to);
    const { text } = await harness.request("GET", "/metrics", { key: null });
    const viewer = await openVisitor(harness, "viewer", null, `viewer-${++visits}@example.com`);
    const { warnings } = JSON.parse((await viewer.ask("GET", "/console/api/operator/service")).text) as ServiceView;
    await harness.close();
    return [scraped(text).value("genrouter_restored_backup_unsettled"), warnings];
  };
  expect(await reported()).toEqual([1, [expect.stringContaining("genrouter backup settle --reason TEXT")]]);
  expect((await runHere(["backup", "settle", "--data", to])).exit as number).toBe(2);
  const settled = await runHere(["backup", "settle", "--data", to, "--reason", "reconciled, nothing was bought"]);
  expect([settled.exit as number, settled.out]).toEqual([0, expect.stringMatching(/^settled: the backup as of /)]);
  expect(JSON.stringify(await found(to))).toContain('"ok"');
  expect(await reported()).toEqual([0, []]);
  // A database that was never restored has nothing to settle, and a second restore is reported again.
  expect((await runHere(["backup", "settle", "--data", data, "--reason", "x"])).err).toContain("never restored from a backup");
  expect(JSON.stringify(await found(await restoredTo()))).toContain('"warning"');
}, 60_000);
