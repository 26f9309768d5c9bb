// The lock file: every downloaded package has a SHA-512 hash, and no entry names a private host.
import { expect, test } from "bun:test";
import { join } from "node:path";

type Entry = { integrity?: string; resolved?: string; link?: true; inBundle?: true };

const PUBLIC_REGISTRY = "https://registry.npmjs.org/";
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;

/** One line per entry without a hash or from another host. A bundled package is part of another archive and has no hash. */
const faultsOf = (packages: Record<string, Entry>): string[] =>
  Object.entries(packages).flatMap(([path, { integrity, resolved, link, inBundle }]) => {
    if (link || !path.includes("node_modules/")) return [];
    return [
      ...(inBundle || SHA512.test(integrity ?? "") ? [] : [`${path}: integrity is ${integrity ?? "missing"}`]),
      ...(resolved === undefined || resolved.startsWith(PUBLIC_REGISTRY) ? [] : [`${path}: resolved is ${resolved}`]),
    ];
  });

test("package-lock.json has a hash for every downloaded package and names no private host", async () => {
  const { packages } = (await Bun.file(join(import.meta.dir, "../../package-lock.json")).json()) as {
    packages: Record<string, Entry>;
  };
  expect(Object.keys(packages).length).toBeGreaterThan(300);
  expect(faultsOf(packages)).toEqual([]);
});

test("faultsOf reports an entry without a SHA-512 hash and an entry from another host", () => {
  const integrity = `sha512-${"A".repeat(86)}==`;
  expect(
    faultsOf({
      "": {},
      client: {},
      "node_modules/@genrouter/client": { resolved: "client", link: true },
      "node_modules/right": { integrity },
      "node_modules/right/node_modules/bundled": { inBundle: true },
      "node_modules/public": { integrity, resolved: `${PUBLIC_REGISTRY}public/-/public-1.0.0.tgz` },
      "node_modules/bare": {},
      "client/node_modules/weak": { integrity: "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=" },
      "node_modules/elsewhere": { integrity, resolved: "http://127.0.0.1:4873/elsewhere-1.0.0.tgz" },
    }),
  ).toEqual([
    "node_modules/bare: integrity is missing",
    "client/node_modules/weak: integrity is sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "node_modules/elsewhere: resolved is http://127.0.0.1:4873/elsewhere-1.0.0.tgz",
  ]);
});
