// Restart of a killed node: it recovers its generations without waiting for its former lease.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { freePort, run } from "../../src/torture/crash/processes.ts";
import { serveSimulating } from "../api-multi-node/simulating.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { startBucket } from "../cluster/bucket.ts";
import { eventually } from "../eventually.ts";
import { openServer } from "../postgres/server.ts";

afterAll(dropDirs);

/** Longer than every wait of this test. */
const LEASE_S = "300";
const SPEED = 5;

test("a killed node continues its generations after a restart without waiting for its former lease", async () => {
  const [server, bucket, dir] = [await openServer(), await startBucket(join(freshDir(), "bucket")), freshDir()];
  // Outlives the node, so that the job of a request that was out at the kill is found again.
  const simulator = await startSimulator(PROGRAM, { port: await freePort(), speed: SPEED, log: join(dir, "simulator.log") });
  const env = {
    ...bucket.settings("a15/"),
    ...settingsLeadingTo(simulator.url),
    GENROUTER_STORE__URL: server.url("postgres"),
    GENROUTER_STORE__LEASE_S: LEASE_S,
    GENROUTER_DATA__DIR: dir,
    GENROUTER_SIMULATOR__SPEED: String(SPEED),
  };
  const first = await serveSimulating(env);
  const body = JSON.stringify({ model: "vidmodel-2.0-fast", input: { prompt: "a kite", resolution: "480p", duration: 4 } });
  const { id } = await first.ask("/generations", { method: "POST", body });
  // A request that was never sent would first be looked up for as long as the provider may take to list it.
  await eventually(async () => (await simulator.submissions("kite")).some(({ accepted }) => accepted), "the provider's job");
  first.node.kill("SIGKILL");
  await first.node.ended;
  const second = await serveSimulating(env);
  try {
    expect(await eventually(async () => (await second.ask(`/generations/${id}`)).status === "succeeded", "success")).toBe(true);
    const nodes = await run([...PROGRAM, "nodes", "--json"], env);
    expect([nodes.code, nodes.output.match(/"ended_at":null/g)?.length]).toEqual([0, 1]);
  } finally {
    second.node.kill("SIGKILL");
    await second.node.ended;
    simulator.child.kill("SIGKILL");
    bucket.child.kill("SIGKILL");
    await server.stop();
  }
}, 120_000);
