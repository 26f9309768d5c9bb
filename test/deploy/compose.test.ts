// The compose files: settings pass the start checks of the service, and volumes, secrets and addresses are consistent.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { startChecks } from "../../src/app/preflight-checks.ts";
import { readSettings } from "../../src/config/load.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

const COMPOSE = join(import.meta.dir, "../../deploy/compose");
type Service = {
  image: string;
  environment?: Record<string, string>;
  secrets?: string[];
  volumes?: string[];
  ports?: string[];
  depends_on?: string[];
  read_only?: boolean;
  stop_grace_period?: string;
  networks?: { inside: { ipv4_address: string } };
};
type Compose = { services: Record<string, Service>; volumes: Record<string, null>; secrets: Record<string, { file: string }> };
const readCompose = (name: string) => Bun.YAML.parse(readFileSync(join(COMPOSE, name), "utf8")) as Compose;
const one = readCompose("one-node.yaml");
const three = readCompose("three-nodes.yaml");
const BOTH = [
  ["one-node.yaml", one],
  ["three-nodes.yaml", three],
] as const;
afterAll(dropDirs);

const isNode = ({ image }: Service) => image.startsWith("${GENROUTER_IMAGE");
const nodesOf = (compose: Compose) => Object.values(compose.services).filter(isNode);
const addressOf = (compose: Compose, name: string) => compose.services[name]?.networks?.inside.ipv4_address;

const SECRETS: Record<string, string> = {
  operator_token: "t".repeat(64),
  database_password: "p".repeat(48),
  store_url: `postgres://genrouter:${"p".repeat(48)}@172.30.77.20/genrouter`,
  s3_access_key: "a".repeat(20),
  s3_secret_key: "s".repeat(48),
};
/** The environment of a container with default values, one provider key, and its secrets in files. */
const environmentOf = ({ environment = {} }: Service): Record<string, string> => {
  const dir = freshDir();
  return Object.fromEntries(
    Object.entries({ ...environment, FAL_KEY: "fal-key" }).map(([name, value]) => {
      const [, secret] = /^\/run\/secrets\/(\w+)$/.exec(value) ?? [];
      if (secret === undefined) return [name, value.replace(/\$\{\w+:-([^}]*)\}/g, "$1")];
      const path = join(dir, secret);
      writeFileSync(path, SECRETS[secret] ?? "");
      return [name, path];
    }),
  );
};

describe.each(BOTH)("%s", (_name, compose) => {
  test("gives every node settings that pass the start checks, and a data volume of its own", async () => {
    expect(nodesOf(compose).length).toBe(compose === one ? 1 : 3);
    for (const node of nodesOf(compose)) {
      const settings = readSettings(environmentOf(node));
      for (const check of startChecks(settings, "live")) await check();
      expect(settings.operator.token).toBe(SECRETS.operator_token ?? "");
      expect([node.read_only, node.stop_grace_period]).toEqual([true, "40s"]);
      expect(Number.parseInt(node.stop_grace_period ?? "", 10)).toBeGreaterThan(
        settings.server.drain_s + settings.server.drain_notice_s,
      );
    }
    const volumes = nodesOf(compose).flatMap(({ volumes: own = [] }) => own);
    expect(new Set(volumes).size).toBe(nodesOf(compose).length);
    expect(volumes.every((volume) => volume.endsWith(":/data"))).toBe(true);
  });

  test("declares exactly the volumes, secrets and services that it uses", () => {
    const services = Object.values(compose.services);
    const used = (of: (service: Service) => readonly string[] | undefined) =>
      new Set(services.flatMap((service) => of(service) ?? []));
    const volumes = [...used(({ volumes: own }) => own)]
      .map((each) => each.split(":")[0] ?? "")
      .filter((each) => !each.startsWith("."));
    expect(volumes.sort()).toEqual(Object.keys(compose.volumes).sort());
    const mounted = [
      ...used(({ environment = {} }) =>
        Object.values(environment).flatMap((value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? []),
      ),
    ];
    expect([...used(({ secrets }) => secrets)].sort()).toEqual(Object.keys(compose.secrets).sort());
    expect(mounted.sort()).toEqual(Object.keys(compose.secrets).sort());
    for (const name of used(({ depends_on: needs }) => needs)) expect(Object.keys(compose.services)).toContain(name);
    // A service reads only the secrets that it declares.
    for (const { environment = {}, secrets = [] } of services)
      for (const value of Object.values(environment))
        if (value.startsWith("/run/secrets/")) expect(secrets).toContain(value.replace("/run/secrets/", ""));
  });

  test("requires third-party images by digest, and publishes its port on the loopback address by default", () => {
    for (const service of Object.values(compose.services)) {
      if (!isNode(service)) expect(service.image).toMatch(/^\$\{[A-Z]+_IMAGE:\?.*digest\}$/);
      for (const port of service.ports ?? []) expect(port).toBe("${PUBLISH:-127.0.0.1:8080}:8080");
    }
  });
});

test("three-nodes.yaml gives HAProxy, the bucket and the database the addresses that the settings of the nodes name", () => {
  const addresses = Object.keys(three.services).map((name) => addressOf(three, name) ?? "");
  expect(new Set(addresses).size).toBe(addresses.length);
  for (const address of addresses) expect([address, isIP(address), address.startsWith("172.30.77.")]).toEqual([address, 4, true]);
  expect(three.services.front?.environment).toEqual(
    Object.fromEntries([1, 2, 3].map((n) => [`NODE${n}`, `${addressOf(three, `node${n}`)}:8080`])),
  );
  const recipe = readFileSync(join(COMPOSE, "../proxies/haproxy.cfg"), "utf8");
  for (const n of [1, 2, 3]) expect(recipe).toContain(`server node${n} "\${NODE${n}}"`);
  for (const node of nodesOf(three)) {
    const settings = readSettings(environmentOf(node));
    expect(settings.server.trusted_proxies).toBe(addressOf(three, "front") ?? "");
    expect(new URL(settings.s3.endpoint).hostname).toBe(addressOf(three, "bucket") ?? "");
    expect(new URL(settings.store.url).hostname).toBe(addressOf(three, "database") ?? "");
  }
});

const haproxy = Bun.which("haproxy");
if (haproxy === null) console.warn("skipped: haproxy.cfg with the addresses of the compose file (haproxy is not installed)");
test.skipIf(haproxy === null)("HAProxy accepts haproxy.cfg with the addresses of three-nodes.yaml", () => {
  const { exitCode, stderr } = Bun.spawnSync([haproxy ?? "", "-c", "-f", join(COMPOSE, "../proxies/haproxy.cfg")], {
    env: { ...process.env, ...three.services.front?.environment },
  });
  expect([exitCode, exitCode === 0 ? "" : String(stderr)]).toEqual([0, ""]);
});

test("three-nodes.yaml mounts the database volume at PGDATA", () => {
  const { environment, volumes } = three.services.database ?? {};
  expect(volumes).toEqual([`database:${environment?.PGDATA}`]);
});
