// Liveness and readiness of a service, as reported by `genrouter healthcheck` and by `genrouter doctor`.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { serviceFindings } from "../../src/cli/doctor/process.ts";
import { openHarness } from "../harness.ts";
import { openDirectory } from "../store/open-store.ts";
import { runHere } from "./captured.ts";
import { doctor, has } from "./diagnosis.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

let dir: string;
beforeEach(async () => {
  dir = freshDir();
  await runHere(["accounts", "create", "--name", "a", "--data", dir]);
});
afterAll(dropDirs);

describe("doctor on the service", () => {
  test("reports a service that is ready, has another version, is not ready, does not respond, or does not run", async () => {
    const harness = await openHarness();
    const about = { url: harness.url, mode: "test" as const, version: "0.1.0", pid: 1 };
    has(await serviceFindings(dir, about), "service", "ok", /pid 1, ready/);
    has(
      await serviceFindings(dir, { ...about, version: "0.0.9" }),
      "service",
      "warning",
      /it runs version 0\.0\.9/,
      /restart the service/,
    );
    await harness.components.drain(0);
    has(await serviceFindings(dir, about), "service", "fault", /is not ready: Not ready: the service is draining/, /readyz/);
    await harness.close();
    has(await serviceFindings(dir, about), "service", "fault", /is not ready: /);
    const store = await openDirectory({ dir, mode: "live" });
    has(await doctor(dir), "service", "fault", /a process uses .* and does not respond/, /owner/);
    await store.close();
    has(await doctor(dir), "service", "warning", /no service is running/);
  });
});

describe("healthcheck", () => {
  test("prints one line and exits with 0 or 1 for a service that is live, ready, draining or stopped", async () => {
    const harness = await openHarness();
    const ask = (...more: string[]) => runHere(["healthcheck", "--url", `${harness.url}/`, ...more]);
    expect(await ask()).toEqual({ exit: 0, out: "ok: ok\n", err: "" });
    expect(await ask("--ready")).toEqual({ exit: 0, out: "ok: ready\n", err: "" });
    await harness.components.drain(0);
    expect(await ask()).toMatchObject({ exit: 0 });
    expect(await ask("--ready")).toEqual({ exit: 1, out: "not ok: Not ready: the service is draining.\n", err: "" });
    await harness.close();
    expect(await ask("--json")).toMatchObject({ exit: 1, out: expect.stringMatching(/^\{"ok":false/) });
    expect(await runHere(["healthcheck", "--data", dir])).toEqual({
      exit: 1,
      out: `not ok: no service is running on ${dir}\n`,
      err: "",
    });
    expect(await runHere(["healthcheck", "--data", join(dir, "none")])).toMatchObject({ exit: 1 });
    expect((await runHere(["healthcheck", "--timeout", "0"])).exit as number).toBe(2);
  });
  test("distinguishes a service that does not respond from no service, within --timeout", async () => {
    const silent = Bun.listen({ unix: join(dir, "control.sock"), socket: { data: () => undefined } });
    try {
      expect(await runHere(["healthcheck", "--data", dir, "--timeout", "1"])).toEqual({
        exit: 1,
        out: `not ok: the service on ${dir} does not respond\n`,
        err: "",
      });
    } finally {
      silent.stop(true);
    }
  });
  test("exits with 1 when a URL does not respond within --timeout", async () => {
    const silent = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise<Response>(() => undefined) });
    const ran = await runHere(["healthcheck", "--url", `http://127.0.0.1:${silent.port}`, "--timeout", "1"]);
    await silent.stop(true);
    expect(ran).toEqual({ exit: 1, out: "not ok: no response within 1000 ms\n", err: "" });
  });
});
