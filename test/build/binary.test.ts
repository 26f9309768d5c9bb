// The binary: its linked libraries, and that it serves in a root directory with only these libraries and /proc.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import packageJson from "../../package.json" with { type: "json" };
import { start } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { eventually } from "../eventually.ts";
import { connectViewer } from "../inspector/viewer.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

const BUILD_MS = 180_000;
let binary = "";
beforeAll(async () => {
  [binary = ""] = await builtBinary((line) => console.log(line));
}, BUILD_MS);

const run = (words: string[], cwd = "/") => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, { cwd, env: { PATH: process.env.PATH ?? "" } });
  return { exitCode, out: stdout.toString(), err: stderr.toString() };
};
const lacks = (why: string, isLacking: boolean): boolean => {
  if (isLacking) console.log(`(skip) ${why}`);
  return isLacking;
};
const isGlibc = process.platform === "linux" && run(["ldd", "--version"]).out.includes("GLIBC");
const noLdd = lacks("only Linux with glibc and ldd has these libraries", !isGlibc);
const noNamespace = lacks("namespaces are not permitted here", noLdd || run(["unshare", "-r", "-m", "true"]).exitCode !== 0);

const linkedTo = (): string[] => [...run(["ldd", binary]).out.matchAll(/\/\S+\.so\S*/g)].map(([path]) => path);

test("the binary prints version, interface, revision, runtime and target for --version", () => {
  const { out } = run([binary, "--version"]);
  expect(out).toMatch(
    /^genrouter \S+ \(interface 2026-10-19, rev ([0-9a-f]{7}(-dirty)?|unknown), bun \d+\.\d+\.\d+, [a-z]+-[a-z0-9]+(-musl)?\)\n$/,
  );
  expect(out).toContain(`genrouter ${packageJson.version} `);
});

test.skipIf(noLdd)("the binary is linked only to libc and its parts", () => {
  const names = linkedTo().map((path) => /\/([a-z0-9-]+?)(-x86-64|-aarch64)?\.so/.exec(path)?.[1] ?? path);
  expect(names.sort()).toEqual(["ld-linux", "libc", "libdl", "libm", "libpthread"]);
});

test("the binary does not contain the path of the checkout", () => {
  expect(readFileSync(binary).includes(join(import.meta.dir, "../.."))).toBe(false);
});

const components: { dir: string; service: Bun.Subprocess }[] = [];
afterAll(async () => {
  for (const { dir, service } of components) {
    service.kill("SIGKILL");
    await service.exited;
    dropScratch(dir);
  }
});

test.skipIf(noNamespace)(
  "the binary serves and delivers a generation in a root directory with only its libraries and /proc",
  async () => {
    const dir = makeScratch("gr-bare-");
    for (const path of linkedTo()) {
      mkdirSync(join(dir, dirname(path)), { recursive: true });
      copyFileSync(realpathSync(path), join(dir, path));
    }
    copyFileSync(binary, join(dir, "genrouter"));
    mkdirSync(join(dir, "proc"));
    mkdirSync(join(dir, "empty"));
    const inside = (...words: string[]) => [
      ...["unshare", "-r", "-m", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" /genrouter "$@"', dir],
      ...words,
    ];
    expect(run(inside("--version")).out).toStartWith("genrouter ");
    const service = Bun.spawn(inside("serve", "--simulate", "--port", "0", "--data", "/empty/data"), {
      env: { PATH: process.env.PATH ?? "", GENROUTER_SIMULATOR__SPEED: "50" },
      stdout: "pipe",
      stderr: "ignore",
    });
    components.push({ dir, service });
    expect(new TextDecoder().decode((await service.stdout.getReader().read()).value)).toStartWith("url http://127.0.0.1:");
    const made = run(
      inside("generate", "sim-image-1", "--prompt", "a tin robot", "--data", "/empty/data", "-o", "/empty/robot.png"),
    );
    expect([made.exitCode, made.out]).toEqual([0, expect.stringContaining("✔ succeeded")]);
    expect(existsSync(join(dir, "empty/robot.png"))).toBe(true);
    expect(run(inside("verify", "--data", "/empty/data")).exitCode).toBe(0);
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
  },
  BUILD_MS,
);

test("the inspector of the binary sends generation events over a WebSocket, also to the stock receiver", async () => {
  const data = makeScratch("gr-sockets-");
  const service = start([binary, "serve", "--simulate", "--port", "0", "--data", data], { GENROUTER_SIMULATOR__SPEED: "50" });
  const url = (await service.hears(/^url (\S+)$/m))[1] ?? "";
  await service.hears(/^curl /m);
  const eye = await connectViewer({ url });
  const received: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server: `${url.replace("http", "ws")}/inspector/ws` }).subscribe(
    (event) => void received.push(event),
  );
  await eventually(() => received.some(({ sessionId }) => sessionId === "ledger"), "the first frames");
  const words = ["generate", "sim-image-1", "--prompt", "a tin robot", "--data", data, "-o", join(data, "robot.png")];
  expect(run([binary, ...words]).exitCode).toBe(0);
  await eventually(
    () =>
      eye.events.some(({ kind, to }) => kind === "generation" && to === "succeeded") &&
      received.some((event) => event.type === "@xstate.snapshot" && event.snapshot.status === "done"),
    "the end of the generation",
  );
  await eye.close();
  service.kill("SIGTERM");
  expect((await service.ended).code).toBe(0);
  dropScratch(data);
}, 60_000);
