// The proxy configurations in deploy/proxies: each runs in front of a service when its program is installed.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { eventually } from "../eventually.ts";
import { openHarness } from "../harness.ts";

afterAll(dropDirs);

const recipe = (name: string) => readFileSync(join(import.meta.dir, "../../deploy/proxies", name), "utf8");
const TOO_LARGE = {
  error: {
    code: "body_too_large",
    message: "The body is over 1 MB (1,048,576 bytes); send media as URLs, not inside the request.",
  },
};
const freePort = (): number => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = server.port ?? 0;
  void server.stop(true);
  return port;
};

/** A configuration with one node of the test and a free port. Other changes are only what the program needs to run alone. */
type Front = { file: string; text: (port: number, node: string, dir: string) => string; check: string[]; run: string[] };
const FRONTS: Record<string, Front> = {
  haproxy: {
    file: "haproxy.cfg",
    text: (port, node) =>
      recipe("haproxy.cfg")
        .replace("bind :8080", `bind 127.0.0.1:${port}`)
        .replace("10.0.0.11:8080", node)
        .replace(/^ {2}server node[23] .*\n/gm, ""),
    check: ["-c", "-f"],
    run: ["-db", "-f"],
  },
  nginx: {
    file: "nginx.conf",
    text: (port, node, dir) => {
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${dir}/${name};`);
      const http = recipe("nginx.conf").replace("listen 8080;", `listen 127.0.0.1:${port};`).replace("10.0.0.11:8080", node);
      const user = process.getuid?.() === 0 ? "user root; " : "";
      return `${user}daemon off; pid ${dir}/pid; error_log ${dir}/error.log; events {} http { access_log off; ${paths.join(" ")}\n${http}}`;
    },
    check: ["-t", "-c"],
    run: ["-c"],
  },
  caddy: {
    file: "Caddyfile",
    text: (port, node) =>
      `{\n\tadmin off\n\tauto_https off\n}\n${recipe("Caddyfile")
        .replace("genrouter.example.com {", `http://127.0.0.1:${port} {`)
        .replace(/10\.0\.0\.11:8080 .*? \{/, `${node} {`)}`,
    check: ["validate", "--adapter", "caddyfile", "--config"],
    run: ["run", "--adapter", "caddyfile", "--config"],
  },
};

/** Starts a proxy in front of the node, on another port when the first is taken. @throws Error with the end of its output */
const startFront = async (
  front: Front,
  program: string,
  node: string,
  tries = 3,
): Promise<{ at: string; stop(): Promise<void> }> => {
  const [dir, port] = [freshDir(), freePort()];
  mkdirSync(dir, { recursive: true });
  const [config, said] = [join(dir, front.file), join(dir, "said")];
  writeFileSync(config, front.text(port, node, dir));
  const env = { PATH: process.env.PATH ?? "", HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
  const checked = Bun.spawnSync([program, ...front.check, config], { env, stdout: "pipe", stderr: "pipe" });
  expect([checked.exitCode, checked.exitCode === 0 ? "" : checked.stderr.toString()]).toEqual([0, ""]);
  const child = Bun.spawn([program, ...front.run, config], { env, stdout: Bun.file(said), stderr: Bun.file(`${said}-wrong`) });
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  const words = () => `${readFileSync(said, "utf8")}${readFileSync(`${said}-wrong`, "utf8")}`.slice(-2000);
  const at = `http://127.0.0.1:${port}`;
  let seen = "nothing";
  try {
    const begun = await eventually(async () => {
      if (child.exitCode !== null) return "ended";
      // A request without a response is cancelled; the next one uses a new connection.
      const answer = await fetch(`${at}/readyz`, { signal: AbortSignal.timeout(5000), keepalive: false }).catch(String);
      seen = typeof answer === "string" ? answer : String(answer.status);
      return seen === "200" && "ready";
    }, `a ready proxy (port ${port})`);
    if (begun === "ready") return { at, stop };
  } catch (fault) {
    await stop();
    throw new Error(`${String(fault)}; the last response was ${seen}; its output: ${words()}`);
  }
  if (tries <= 1) throw new Error(`the proxy ended with ${child.exitCode}: ${words()}`);
  return startFront(front, program, node, tries - 1);
};

for (const [program, front] of Object.entries(FRONTS)) {
  const path = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin` });
  if (path === null) process.stdout.write(`skipped: the configuration for ${program} (it is not installed)\n`);
  describe.skipIf(path === null)(`behind ${program}`, () => {
    test("a client submits, polls and downloads a generation, and receives the service's error for a body that is too large", async () => {
      const harness = await openHarness({ factor: 100 });
      const { at, stop } = await startFront(front, path ?? "", new URL(harness.url).host);
      try {
        const headers = { authorization: `Bearer ${harness.tenant.key}`, "content-type": "application/json" };
        const ask = (body: string) => fetch(`${at}/v1/generations`, { method: "POST", headers, body });
        const made = await ask(JSON.stringify({ model: "sim-image-1", input: { prompt: "a kite" } }));
        expect(made.status).toBe(202);
        const { id } = (await made.json()) as { id: string };
        const done = await eventually(async () => {
          const shown = (await (await fetch(`${at}/v1/generations/${id}`, { headers })).json()) as { status: string };
          return ["succeeded", "failed"].includes(shown.status) && shown;
        }, "the end of the generation");
        expect(done).toMatchObject({ id, status: "succeeded" });
        const content = await fetch(`${at}/v1/generations/${id}/content`, { headers });
        expect([content.status, content.headers.get("content-type")]).toEqual([200, "image/png"]);
        expect((await content.bytes()).length).toBeGreaterThan(100);
        const tooLarge = await ask(JSON.stringify({ model: "sim-image-1", input: { prompt: "x".repeat(1_500_000) } }));
        expect([tooLarge.status, await tooLarge.json()]).toEqual([413, TOO_LARGE]);
        const fits = await ask(JSON.stringify({ model: "sim-image-1", input: { prompt: "x".repeat(1_048_000) } }));
        expect([fits.status, await fits.json()]).toMatchObject([422, { error: { code: "invalid_input" } }]);
        // The service accepts the proxy's own address as the origin, so the response is 401 and not a rejected origin.
        expect((await fetch(`${at}/inspector/ws`, { headers: { origin: at } })).status).toBe(401);
      } finally {
        await stop();
        await harness.close();
      }
    }, 60_000);
  });
}

test("each proxy configuration checks /readyz of the nodes, or states that it cannot", () => {
  expect(recipe("haproxy.cfg")).toMatch(/uri \/readyz[\s\S]*inter 1s fall 2/);
  expect(recipe("Caddyfile")).toContain("health_uri /readyz");
  expect(recipe("nginx.conf")).toContain("has no active check of /readyz");
});
