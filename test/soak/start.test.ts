// Tests that only the service itself responds at its address while it starts, so that a 200 is always valid.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { dropScratch } from "../scratch.ts";

const STARTS = 3;
const CALLERS = 24;
const home = mkdtempSync(join(tmpdir(), "starts-"));
afterAll(() => dropScratch(home));

test("a starting service refuses connections or responds itself, and never accepts a submission without a key", async () => {
  const wrong: string[] = [];
  for (let turn = 0; turn < STARTS; turn += 1) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const service = start([...PROGRAM, "serve", "--simulate", "--port", String(port), "--data", join(home, String(turn))]);
    let isReady = false;
    const hammer = async (caller: number) => {
      while (!isReady) {
        const path = caller % 2 === 0 ? "/readyz" : "/v1/generations";
        const init = caller % 2 === 0 ? {} : { method: "POST", body: "{}" };
        const answered = await fetch(`${url}${path}`, { ...init, headers: { connection: "close" } }).catch(() => undefined);
        if (!answered) continue;
        const text = await answered.text().catch(() => undefined);
        if (text === undefined) continue;
        if (answered.headers.get("genrouter-version") === null) wrong.push(`${path} ${answered.status} ${JSON.stringify(text)}`);
        if (answered.status === 202) wrong.push(`${path} 202 without a key`);
      }
    };
    const hammering = Array.from({ length: CALLERS }, (_, caller) => hammer(caller));
    await service.hears(/^url (\S+)$/m);
    isReady = true;
    await Promise.all(hammering);
    service.kill("SIGKILL");
    await service.ended;
  }
  expect(wrong).toEqual([]);
}, 60_000);
