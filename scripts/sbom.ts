// Writes the software bill of materials (CycloneDX JSON) of the binary: `bun scripts/sbom.ts FILE`.
//
// The same lock file gives the same bytes: there is no timestamp and no serial number. `npm sbom --omit dev` is not used, because
// it has both and cannot list the vendored script of the reference page. It also omits production packages that development
// packages need too (seen with npm 11.19).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Entry, locked, type Package, productionPackages } from "./notices.ts";

const root = join(import.meta.dir, "..");
const RUNTIME = "node_modules/bun";

export type Component = {
  type: "library";
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  licenses: { expression: string }[];
  hashes: { alg: "SHA-512" | "SHA-256"; content: string }[];
};
export type Dependency = { ref: string; dependsOn: string[] };

const refOf = ({ name, version }: { name: string; version: string }): string => `${name}@${version}`;
const component = (name: string, version: string, license: string | undefined, hash: Component["hashes"][number]): Component => ({
  type: "library",
  "bom-ref": refOf({ name, version }),
  name,
  version,
  purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  licenses: [{ expression: license ?? "NOASSERTION" }],
  hashes: [hash],
});

/** Component of an npm package, with the archive hash of the lock file. */
const packageComponent = ({ name, version, license, integrity }: Package): Component =>
  component(name, version, license, {
    alg: "SHA-512",
    content: Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex"),
  });

/** Component of the reference page's vendored script, with the hash of the file. */
const vendoredScript = (): Component => {
  const origin = JSON.parse(readFileSync(join(root, "src/http/pages/assets/scalar.json"), "utf8")) as {
    package: string;
    version: string;
    licence: string;
    sha256: string;
  };
  return component(origin.package, origin.version, origin.licence, { alg: "SHA-256", content: origin.sha256 });
};

/** Path of the package to which `name` resolves from the package at `from`: the nearest node_modules upwards. */
const resolvedFrom = (from: string, name: string, entries: Record<string, Entry>): string | undefined => {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf("node_modules/") - 1))) {
    const path = `${place === "" ? "" : `${place}/`}node_modules/${name}`;
    if (path in entries) return path;
    if (place === "") return undefined;
  }
};

/** @returns the bill of materials with the runtime, the production packages and the vendored files. */
export const createSbom = (): { components: Component[]; dependencies: Dependency[] } => {
  const entries = locked();
  const runtime = entries[RUNTIME];
  if (!runtime) throw new Error(`package-lock.json: has no ${RUNTIME}`);
  const packages: Package[] = [
    { ...runtime, name: "bun", path: RUNTIME, license: runtime.license ?? "MIT" },
    ...productionPackages(),
  ];
  const vendored = vendoredScript();
  const refs = new Map(packages.map((one) => [one.path, refOf(one)]));
  const dependsOn = (path: string): string[] => {
    const { dependencies = {}, peerDependencies = {} } = entries[path] ?? {};
    const paths = Object.keys({ ...dependencies, ...peerDependencies }).map((name) => resolvedFrom(path, name, entries));
    return [...new Set(paths.flatMap((each) => refs.get(each ?? "") ?? []))].sort();
  };
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const own = refOf({ name: "genrouter", version });
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: { type: "application", "bom-ref": own, name: "genrouter", version, licenses: [{ license: { id: "MIT" } }] },
    },
    components: [...packages.map(packageComponent), vendored],
    dependencies: [
      { ref: own, dependsOn: [...dependsOn(""), vendored["bom-ref"]].sort() },
      ...packages.map((one) => ({ ref: refOf(one), dependsOn: dependsOn(one.path) })),
      { ref: vendored["bom-ref"], dependsOn: [] },
    ],
  };
  return bom;
};

if (import.meta.main) {
  const path = process.argv[2];
  if (path === undefined) throw new Error("usage: bun scripts/sbom.ts FILE");
  writeFileSync(path, `${JSON.stringify(createSbom(), null, 2)}\n`);
}
