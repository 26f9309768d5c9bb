// Ports of test programs: none is given twice, also not by another process that runs at the same time.
import { afterAll, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../src/torture/crash/processes.ts";

const claimOf = (port: number) => join(tmpdir(), "genrouter-ports", String(port));
const made: number[] = [];
afterAll(() => {
  for (const port of made) rmSync(claimOf(port), { force: true });
});

test("freePort() gives no port twice, and leaves a claim that names this process", async () => {
  const ports: number[] = [];
  for (let at = 0; at < 300; at += 1) ports.push(await freePort());
  made.push(...ports);
  expect(new Set(ports).size).toBe(300);
  expect(await Bun.file(claimOf(ports[0] ?? 0)).text()).toBe(String(process.pid));
});

test("freePort() gives the port of an ended process again, and never that of a live one", async () => {
  const child = Bun.spawn([process.execPath, "-e", "await Bun.sleep(60_000)"]);
  const random = Math.random;
  const [free, dead, alive] = [await freePort(), await freePort(), await freePort()];
  made.push(free, dead, alive);
  rmSync(claimOf(free));
  writeFileSync(claimOf(alive), String(child.pid));
  const ended = Bun.spawn([process.execPath, "-e", ""]);
  await ended.exited;
  writeFileSync(claimOf(dead), String(ended.pid));
  const draw = (port: number) => (port - 20_000) / 12_000 + 1e-9;
  const drawn = [alive, dead, alive, free].map(draw);
  Math.random = () => drawn.shift() ?? 0.5;
  try {
    expect([await freePort(), await freePort()]).toEqual([dead, free]);
  } finally {
    Math.random = random;
    child.kill();
  }
  expect(existsSync(claimOf(alive))).toBe(true);
});
