// During a database outage requests get 503 busy, and the same requests succeed afterwards.
import { expect, test } from "bun:test";
import { connect } from "../../src/store/postgres/connections.ts";
import { eventually } from "../eventually.ts";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "./binaries.ts";
import { sharedServer } from "./databases.ts";

test.skipIf(postgresReason !== undefined)(
  "a poll during a database outage returns 503 busy with Retry-After, and succeeds after the outage",
  async () => {
    const harness = await openHarnessOfNodes(2, { factor: 0 });
    const server = await sharedServer();
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    await server.kill();
    // The other node has not cached the generation and must read the database.
    const answers = [
      await harness.request("GET", `/v1/generations/${id}`),
      await harness.request("GET", `/v1/generations/${id}`),
    ];
    const rejected = answers.find(({ status }) => status === 503);
    expect(rejected?.body).toMatchObject({ error: { code: "busy" } });
    expect(Number(rejected?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(harness.lines.filter(({ event }) => event === "request failed")).toEqual([]);
    await server.start();
    const line = await connect({ url: server.url("postgres"), prepare: true });
    line.close();
    for (let node = 0; node < 2; node += 1) expect((await harness.request("GET", `/v1/generations/${id}`)).status).toBe(200);
    await harness.crash();
  },
  60_000,
);

test.skipIf(postgresReason !== undefined)(
  "nodes that cannot reach the database are not ready, report why, and become ready again without a restart",
  async () => {
    const harness = await openHarnessOfNodes(2);
    const server = await sharedServer();
    const asked = () => Promise.all(harness.each.map(({ nodeUrl: own }) => fetch(`${own}/readyz`)));
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200]);
    await server.kill("fast");
    try {
      const answers = await eventually(async () => {
        const all = await asked();
        return all.every(({ status }) => status === 503) && all;
      }, "a 503 from both nodes");
      for (const answer of answers) expect(await answer.json()).toMatchObject({ faults: ["the database does not respond"] });
    } finally {
      await server.start();
    }
    await eventually(async () => (await asked()).every(({ status }) => status === 200), "a 200 from both nodes");
    await harness.crash();
  },
  90_000,
);
