// Service without a network: runs in a network namespace that has only a loopback interface.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FROM_SOURCES } from "../../src/torture/crash/processes.ts";

const entry = (name: string) => [process.execPath, join(import.meta.dir, name)];
/** A user namespace allows a network namespace without root. */
const CUT = ["unshare", "--map-root-user", "--net", ...entry("loopback.ts")];

const whyNot = (): string | undefined => {
  if (process.platform !== "linux") return "this system has no network namespaces";
  if (Bun.which("unshare") === null) return "unshare is not installed";
  const { exitCode, stderr } = Bun.spawnSync([...CUT, "true"]);
  return exitCode === 0 ? undefined : stderr.toString().trim().split("\n").at(-1);
};
const reason = whyNot();
if (reason !== undefined) process.stdout.write(`skipped: the service without a network (${reason})\n`);

test.skipIf(reason !== undefined)(
  "without a network the service starts, generates, delivers and serves its pages",
  async () => {
    const child = Bun.spawn([...CUT, ...entry("whole-way.ts"), ...FROM_SOURCES], { stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err]).toEqual([0, ""]);
    const { bytes, ...way } = JSON.parse(out);
    expect(way).toEqual({
      interfaces: ["lo"],
      outside: "not reached",
      status: "succeeded",
      pages: [200, 200, 200, 200],
      exit: 0,
    });
    expect(bytes).toBeGreaterThan(1_000);
  },
  60_000,
);
