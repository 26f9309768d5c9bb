// The software bill of materials: complete, without duplicates, and reproducible for the same lock file.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { productionPackages } from "../../scripts/notices.ts";
import { createSbom } from "../../scripts/sbom.ts";
import scalar from "../../src/http/pages/assets/scalar.json" with { type: "json" };

const { components, dependencies } = createSbom();
const refs = components.map((one) => one["bom-ref"]);

test("the SBOM lists every production package, the runtime and the vendored script once, each with a hash", () => {
  const packages = productionPackages().map(({ name, version }) => `${name}@${version}`);
  expect(packages.length).toBeGreaterThan(40);
  const others = [`bun@${packageJson.dependencies.bun}`, `@scalar/api-reference@${scalar.version}`];
  expect([...refs].sort()).toEqual([...packages, ...others].sort());
  expect(new Set(refs).size).toBe(refs.length);
  for (const { hashes, licenses, purl } of components) {
    expect(hashes.map(({ content }) => content)).toEqual([expect.stringMatching(/^([0-9a-f]{64}|[0-9a-f]{128})$/)]);
    expect(licenses).not.toEqual([{ expression: "NOASSERTION" }]);
    expect(purl).toMatch(/^pkg:npm\/(%40[^/@]+\/)?[^/@]+@\d/);
  }
});

test("the SBOM lists no package of this repository and no development package", () => {
  const names = components.map(({ name }) => name);
  for (const name of ["client", "@genrouter/client", "knip", "openai"]) expect(names).not.toContain(name);
});

test("the dependency graph of the SBOM reaches every component from genrouter", () => {
  const edges = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([...edges.keys()].filter((ref) => ref.startsWith("genrouter@")));
  expect(reached.size).toBe(1);
  for (const ref of reached) for (const next of edges.get(ref) ?? []) reached.add(next);
  expect([...reached].filter((ref) => !ref.startsWith("genrouter@")).sort()).toEqual([...refs].sort());
});

test("the SBOM has the SHA-256 hash of the vendored script that the service serves", () => {
  const packed = readFileSync(join(import.meta.dir, "../../src/http/pages/assets/scalar.js.gz"));
  const script = Bun.gunzipSync(packed);
  const vendored = components.find(({ name }) => name === "@scalar/api-reference");
  expect(vendored?.hashes[0]?.content).toBe(new Bun.CryptoHasher("sha256").update(script).digest("hex"));
});

test("the SBOM contains no timestamp, serial number or path of the checkout", () => {
  const text = JSON.stringify(createSbom());
  expect(text).toContain('"specVersion":"1.5"');
  expect(text).not.toMatch(/timestamp|serialNumber|urn:uuid/);
  expect(text).not.toContain(join(import.meta.dir, "../.."));
});
