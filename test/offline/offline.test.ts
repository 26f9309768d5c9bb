// The service works on a machine without any network: in a namespace that has a loopback and no route to anywhere.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FROM_SOURCES } from "../../src/torture/crash/processes.ts";

const entry = (name: string) => [process.execPath, join(import.meta.dir, name)];
/** A user namespace of one's own makes a network namespace possible without being root. */
const CUT = ["unshare", "--map-root-user", "--net", ...entry("loopback.ts")];

const whyNot = (): string | undefined => {
  if (process.platform !== "linux") return "there are no network namespaces on this system";
  if (Bun.which("unshare") === null) return "there is no unshare on this machine";
  const { exitCode, stderr } = Bun.spawnSync([...CUT, "true"]);
  return exitCode === 0 ? undefined : stderr.toString().trim().split("\n").at(-1);
};
const reason = whyNot();
if (reason !== undefined) process.stdout.write(`skipped: the network cut (${reason})\n`);

test.skipIf(reason !== undefined)(
  "with the network cut it starts, generates, delivers and shows its pages",
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
