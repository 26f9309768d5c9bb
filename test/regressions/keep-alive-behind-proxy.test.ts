// The service keeps idle connections open longer than a load balancer does, and each proxy recipe closes its own first.
import { expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../src/config/load.ts";
import { openHarness } from "../harness.ts";

const PROXIES = join(import.meta.dir, "../../deploy/proxies");
const recipe = (name: string) => readFileSync(join(PROXIES, name), "utf8");
/** Idle timeout of the AWS load balancer, nginx and most others, s. */
const USUAL_S = 60;

/** The idle timeout with which the service opens its listener, s. */
const idleS = async (env: Record<string, string>): Promise<number | undefined> => {
  const opened = spyOn(Bun, "serve");
  const harness = await openHarness({ env });
  const { port } = new URL(harness.nodeUrl);
  const at = opened.mock.results.findIndex(({ value }) => String((value as { port: number }).port) === port);
  const [options] = opened.mock.calls[at] ?? [];
  opened.mockRestore();
  await harness.close();
  return (options as { idleTimeout?: number }).idleTimeout;
};

test("keeps an idle connection open for more than 60 s by default, or for server.keep_alive_s", async () => {
  expect(await idleS({})).toBeGreaterThan(USUAL_S);
  expect(await idleS({ GENROUTER_SERVER__KEEP_ALIVE_S: "130" })).toBe(130);
  expect(() => readSettings({ GENROUTER_SERVER__KEEP_ALIVE_S: "300" })).toThrow(/GENROUTER_SERVER__KEEP_ALIVE_S: .*240/);
});

test.each([
  ["haproxy.cfg", /timeout http-keep-alive (\d+)s/],
  ["nginx.conf", /keepalive_timeout (\d+)s;/],
  ["Caddyfile", /keepalive (\d+)s/],
])("%s closes its idle connections before the service does", (name, said) => {
  const [, seconds] = said.exec(recipe(name)) ?? [];
  expect(Number(seconds)).toBeGreaterThan(0);
  expect(Number(seconds)).toBeLessThan(readSettings({}).server.keep_alive_s);
});

test("the README of the proxy recipes names server.keep_alive_s and the load balancers whose timeout it must exceed", () => {
  for (const word of ["server.keep_alive_s", "ALB", "HAProxy", "nginx", "Caddy"]) expect(recipe("README.md")).toContain(word);
});
