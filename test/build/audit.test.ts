// The audit of shipped packages against a registry of the test: requested packages, failures and skipped audits.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { productionPackages } from "../../scripts/notices.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

const AUDIT = join(import.meta.dir, "../../scripts/audit.mjs");
const home = makeScratch("gr-audit-");
afterAll(() => dropScratch(home));

type Advisories = Record<string, object[]>;
const advisory = (severity: string, title: string) => ({
  ...{ id: 1, url: "https://advisories.test/1", title, severity },
  vulnerable_versions: ">=0",
});

/** Runs the audit against a registry that responds with `answer`. @returns exit code, output and the requested packages. */
const audit = async (answer: Advisories | number) => {
  let asked: string[] = [];
  const registry = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body = new Uint8Array(await request.arrayBuffer());
      const isGzip = request.headers.get("content-encoding") === "gzip";
      if (new URL(request.url).pathname !== "/-/npm/v1/security/advisories/bulk") return new Response("{}", { status: 404 });
      asked = Object.keys(JSON.parse(new TextDecoder().decode(isGzip ? Bun.gunzipSync(body) : body)) as object);
      return typeof answer === "number" ? new Response("{}", { status: answer }) : Response.json(answer);
    },
  });
  const child = Bun.spawn(["node", AUDIT], {
    env: { PATH: process.env.PATH ?? "", HOME: home, npm_config_registry: registry.url.href, npm_config_cache: home },
    stdout: "pipe",
    stderr: "inherit",
  });
  const out = await new Response(child.stdout).text();
  const exit = await child.exited;
  await registry.stop(true);
  return { exit, out, asked };
};

test("the audit requests every shipped package, fails for a high advisory and names it, and passes for a low one", async () => {
  const low = { pino: [advisory("low", "Planted low")] };
  const [{ exit, out, asked }, mild] = await Promise.all([
    audit({ xstate: [advisory("high", "Planted high")], ...low }),
    audit(low),
  ]);
  expect(asked).toEqual(expect.arrayContaining([...new Set(productionPackages().map(({ name }) => name)), "bun"]));
  expect(asked).not.toContain("knip");
  expect(exit).toBe(1);
  expect(out).toContain("high: xstate: Planted high (https://advisories.test/1)\n");
  expect(out).toContain("low: pino: Planted low");
  expect(out).toEndWith("npm audit: 2 shipped packages with advisories, 1 of them high or critical\n");
  expect([mild.exit, mild.out]).toEqual([0, expect.stringContaining("1 shipped packages with advisories, 0 of them")]);
});

test("the audit exits with 0 and prints the reason when the registry offers no audits", async () => {
  const { exit, out } = await audit(405);
  expect([exit, out]).toEqual([0, expect.stringMatching(/^skipped: npm audit: 405 /)]);
});
