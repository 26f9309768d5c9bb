// Variables that Kubernetes sets for a Service named genrouter or genrouter-web are not read as settings.
import { afterAll, expect, test } from "bun:test";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

/** The variables that a kubelet sets for a Service with a port named http. */
const serviceVariables = (name: string, ip: string): Record<string, string> => {
  const url = `tcp://${ip.includes(":") ? `[${ip}]` : ip}:8080`;
  const named = {
    SERVICE_HOST: ip,
    SERVICE_PORT: "8080",
    SERVICE_PORT_HTTP: "8080",
    PORT: url,
    PORT_8080_TCP: url,
    PORT_8080_TCP_PROTO: "tcp",
    PORT_8080_TCP_PORT: "8080",
    PORT_8080_TCP_ADDR: ip,
  };
  return Object.fromEntries(Object.entries(named).map(([key, value]) => [`${name}_${key}`, value]));
};
const warnings = (err: string) => err.split("\n").filter((line) => line.includes("enableServiceLinks"));

test.each<[string, string]>([
  ["GENROUTER", "10.96.7.4"],
  ["GENROUTER", "fd00:10:96::7"],
  ["GENROUTER_WEB", "10.96.7.4"],
  ["GENROUTER_SERVER", "10.96.7.4"],
  ["GENROUTER_SERVICE", "10.96.7.4"],
  ["GENROUTER__WEB", "10.96.7.4"],
])("ignores the variables of a Kubernetes Service %s at %s and prints one warning", async (name, ip) => {
  const env = { ...serviceVariables(name, ip), GENROUTER_SERVER__PORT: "9000", FAL_KEY: "a-key" };
  for (const words of [
    ["models", "--all"],
    ["config", "print"],
  ]) {
    const ran = await runHere(words, env);
    expect([words, ran.exit as number]).toEqual([words, 0]);
  }
  const listed = await runHere(["models", "--all", "--data", freshDir()], env);
  expect(warnings(listed.err)).toEqual([
    expect.stringMatching(/^warning: ignored GENROUTER_\w+, GENROUTER_\w+, GENROUTER_\w+ and 5 more: /),
  ]);
  const checked = await runHere(["config", "check", "--data", freshDir()], env);
  expect([checked.exit as number, warnings(checked.out)]).toEqual([0, [expect.stringMatching(/^! ignored /)]]);
  const json = await runHere(["config", "check", "--json", "--data", freshDir()], env);
  expect(JSON.parse(json.out)).toMatchObject({ ok: true, faults: [], warnings: [expect.stringMatching(/^ignored /)] });
});

test.each<[string, string]>([
  ["GENROUTER_PORT", "8080"],
  ["GENROUTER_PORT", "http://10.96.7.4:8080"],
  ["GENROUTER_SERVICE_HOST", "0.0.0.0 # all"],
  ["GENROUTER_SERVICE_HOST", "genrouter.example"],
  ["GENROUTER_SERVER_PORT", "8080"],
  ["GENROUTER_PORT_8080_TCP_ADDR", "any"],
  ["GENROUTER_SERVER__PORT", "tcp://10.96.7.4:8080"],
  ["GENROUTER_SERVER__PROT", "8080"],
])("rejects %s=%s as an invalid setting", async (name, value) => {
  const env = { ...serviceVariables("GENROUTER", "10.96.7.4"), [name]: value };
  const ran = await runHere(["config", "check", "--data", freshDir()], env);
  expect(ran.exit as number).toBe(2);
  expect(ran.out).toMatch(new RegExp(`^✘ ${name}`));
});
