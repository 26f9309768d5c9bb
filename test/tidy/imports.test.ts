// Rules for imports: the bounded contexts of the code base, and which of them may import which.
import { expect, test } from "bun:test";
import { dirname, relative, resolve } from "node:path";
import { cyclesOf } from "./cycles.ts";
import { read, root, SOURCES, TESTS } from "./sources.ts";

/** Composition roots and programs: they may import every context. */
const ROOTS = ["src/main.ts", "src/app", "src/cli", "src/torture"];
/** Types, clocks, collections and HTTP client rules: every context may import them, and they import no context. */
const SHARED = ["src/domain", "src/collections", "src/http-client"];

/** Contexts and files that a context may import besides itself and SHARED; `type:` allows types only. */
const MAY_IMPORT: Record<string, string[]> = {
  actors: [],
  catalogue: [],
  "src/admin": [
    "catalogue",
    "type:src/generations",
    "src/providers/provider-client.ts",
    "src/providers/vault.ts",
    "type:src/providers",
    "type:src/routing",
    "type:src/store",
  ],
  "src/backup": ["type:src/config", "src/files/local.ts", "src/files/port.ts", "type:src/logging", "src/store"],
  "src/billing": ["src/config/schema.ts", "type:src/config", "type:src/logging", "type:src/store"],
  "src/cluster": [
    "type:actors",
    "type:src/effects",
    "type:src/files",
    "type:src/generations",
    "type:src/logging",
    "type:src/routing",
    "src/store/cluster-port.ts",
    "type:src/store",
  ],
  "src/console": [
    "type:actors",
    "type:catalogue",
    "src/admin/admin-error.ts",
    "src/admin/orphan-advice.ts",
    "src/admin/request-reference.ts",
    "type:src/admin",
    "src/backup/backup-directory.ts",
    "src/billing/billing-error.ts",
    "type:src/billing",
    "type:src/cluster",
    "src/config/cidr-list.ts",
    "type:src/config",
    "src/event-streams",
    "type:src/files",
    "src/generations/cancel.ts",
    "src/generations/list.ts",
    "type:src/generations",
    "src/http",
    "src/inspector/field-allowlist.ts",
    "src/inspector/replay-api.ts",
    "type:src/inspector",
    "type:src/logging",
    "type:src/media",
    "type:src/quote",
    "src/reports",
    "type:src/routing",
    "src/store",
    "type:src/webhooks",
  ],
  "src/effects": [
    "actors",
    "src/files/port.ts",
    "type:src/files",
    "src/inputs/pinned-links.ts",
    "type:src/inputs",
    "type:src/logging",
    "type:src/media",
    "type:src/providers",
    "src/store/errors.ts",
    "type:src/store",
  ],
  "src/event-streams": ["actors/generation/snapshot.ts", "type:src/generations", "src/webhooks/payload.ts", "type:src/store"],
  "src/files": ["type:actors", "src/config/schema.ts", "type:src/logging", "type:src/store"],
  "src/generations": [
    "actors/generation/snapshot.ts",
    "type:actors",
    "catalogue",
    "type:src/effects",
    "src/inputs/pinned-links.ts",
    "type:src/inputs",
    "type:src/logging",
    "type:src/media",
    "src/quote",
    "type:src/routing",
    "src/store/decide/attempt-writes.ts",
    "type:src/store",
    "type:src/telemetry",
    "type:src/uploads",
  ],
  "src/http": [
    "catalogue",
    "docs/guides",
    "src/config/cidr-list.ts",
    "type:src/config",
    "src/event-streams/stream.ts",
    "type:src/event-streams",
    "src/files/port.ts",
    "src/files/serve.ts",
    "type:src/files",
    "type:src/generations",
    "type:src/logging",
    "type:src/providers",
    "src/reports",
    "src/store/errors.ts",
    "type:src/store",
    "type:src/uploads",
    "type:src/webhooks",
  ],
  "src/mail": ["src/config/schema.ts", "type:src/logging", "type:src/store"],
  "src/inputs": ["catalogue", "src/media/ssrf-guard.ts"],
  "src/webhooks": [
    "actors/webhooks/lanes.ts",
    "type:actors",
    "type:src/logging",
    "src/media/guarded-fetch.ts",
    "src/media/host-allowlist.ts",
    "src/media/ssrf-guard.ts",
    "type:src/media",
    "src/store/errors.ts",
    "type:src/store",
  ],
  "src/inspector": [
    "actors",
    "type:src/cluster",
    "type:src/config",
    "type:src/generations",
    "src/http/client-address.ts",
    "type:src/http",
    "type:src/store",
  ],
  "src/logging": ["type:src/config"],
  "src/media": ["src/files/port.ts", "type:src/files"],
  "src/providers": [
    "catalogue",
    "src/config/schema.ts",
    "src/config/value-files.ts",
    "src/inputs/pinned-links.ts",
    "type:src/logging",
    "type:src/store",
  ],
  "src/quote": ["catalogue", "src/inputs/own-links.ts", "src/inputs/pinned-links.ts", "type:src/inputs"],
  "src/reports": ["type:src/store"],
  "src/routing": [
    "actors/circuit-breaker/snapshot.ts",
    "type:actors",
    "catalogue",
    "src/config/schema.ts",
    "type:src/config",
    "src/providers/credentials.ts",
    "src/providers/dialect/load.ts",
    "src/providers/providers.ts",
    "type:src/providers",
    "type:src/quote",
    "type:src/store",
  ],
  "src/simulator": ["type:catalogue", "type:src/config", "src/media/sandbox/sandbox.ts", "type:src/media"],
  "src/store": [
    "src/config/cidr-list.ts",
    "src/config/database-url.ts",
    "src/config/schema.ts",
    "type:src/config",
    "type:src/logging",
  ],
  "src/telemetry": [
    "type:actors",
    "type:catalogue",
    "src/backup/backup-directory.ts",
    "type:src/config",
    "type:src/files",
    "src/logging/events.ts",
    "type:src/logging",
    "src/quote/cost.ts",
    "type:src/routing",
    "src/store/errors.ts",
    "src/store/sqlite/database-id.ts",
    "src/store/sqlite/open.ts",
    "src/store/sqlite/verify/parallel.ts",
    "type:src/store",
  ],
  "src/uploads": [
    "src/files/port.ts",
    "type:src/files",
    "type:src/inputs",
    "type:src/logging",
    "src/media/wanted-kinds.ts",
    "type:src/media",
    "type:src/store",
  ],
  web: [
    "actors/chart/chart.ts",
    "actors/chart/coverage.ts",
    "actors/chart/level-layout.ts",
    "actors/chart/levels.ts",
    "actors/chart/machines.ts",
    "actors/chart/mermaid.ts",
    "actors/chart/svg.ts",
    "actors/generation/machine.ts",
    "actors/replay/cost-breakdown.ts",
    "actors/replay/playground.ts",
    "actors/replay/replay.ts",
    "type:actors",
    "catalogue/fields.ts",
    "type:catalogue",
    "src/console/needs-https.ts",
    "type:src/console",
    "type:src/http",
    "type:src/inspector",
  ],
};

/** The bounded context of a path: a folder of src, or a top-level folder. */
const contextOf = (path: string) => /^(src|client)\/[^/]+/.exec(path)?.[0] ?? path.split("/")[0] ?? path;

type Import = { from: string; to: string; isType: boolean };
const importsOf = (path: string): Import[] =>
  [...read(path).matchAll(/^\s*(?:import|export)\s(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm)].map((match) => ({
    from: path,
    to: relative(root, resolve(root, dirname(path), match[2] ?? match[3] ?? "")),
    isType: match[1] !== undefined,
  }));

const mayImport = ({ from, to, isType }: Import): boolean => {
  const [context, target] = [contextOf(from), contextOf(to)];
  if (target === context || ROOTS.includes(context)) return true;
  if (SHARED.includes(target) || to === "package.json") return true;
  return (MAY_IMPORT[context] ?? []).some((entry) => {
    const path = entry.replace(/^type:/, "");
    return (to === path || to.startsWith(`${path}/`)) && (isType || !entry.startsWith("type:"));
  });
};

test("a context imports only the contexts that its row in MAY_IMPORT names", () => {
  expect(SOURCES.length).toBeGreaterThan(80);
  const all = SOURCES.flatMap(importsOf);
  expect(all.length).toBeGreaterThan(200);
  expect(
    all.filter((each) => !mayImport(each)).map(({ from, to, isType }) => `${from} → ${to}${isType ? " (type)" : ""}`),
  ).toEqual([]);
});

test("MAY_IMPORT has no entry without an import", () => {
  const imported = SOURCES.flatMap(importsOf);
  const isUsed = (context: string, entry: string) => {
    const path = entry.replace(/^type:/, "");
    return imported.some(({ from, to }) => contextOf(from) === context && (to === path || to.startsWith(`${path}/`)));
  };
  const unused = Object.entries(MAY_IMPORT).flatMap(([context, entries]) =>
    entries.filter((entry) => !isUsed(context, entry)).map((entry) => `${context}: ${entry}`),
  );
  expect(unused).toEqual([]);
});

test("no modules import each other in a circle, other than for types", () => {
  const files = [...SOURCES, ...TESTS];
  const loaded = new Map(
    files.map((path) => [path, importsOf(path).flatMap(({ to, isType }) => (isType || !files.includes(to) ? [] : [to]))]),
  );
  expect(cyclesOf(loaded)).toEqual([]);
});

test("no contexts import each other in a circle, types included", () => {
  const imported = new Map<string, Set<string>>();
  for (const { from, to } of SOURCES.flatMap(importsOf)) {
    const [context, target] = [contextOf(from), contextOf(to)];
    if (context !== target) imported.set(context, (imported.get(context) ?? new Set()).add(target));
  }
  expect(cyclesOf(imported)).toEqual([]);
});

test("a circle is found behind a module that is not part of it, once", () => {
  expect(cyclesOf(new Map(Object.entries({ a: ["b"], b: ["c"], c: ["b"], d: ["a", "e"], e: [] })))).toEqual([["b", "c", "b"]]);
});

test("src/main.ts is the only file directly in src", () => {
  expect(SOURCES.filter((path) => /^src\/[^/]+$/.test(path))).toEqual(["src/main.ts"]);
});

test("each package is imported by the named contexts only, and only files, media and providers call fetch", () => {
  const usersOf = (pattern: RegExp) => [...new Set(SOURCES.filter((path) => pattern.test(read(path))).map(contextOf))].sort();
  expect(usersOf(/from "elysia"/)).toEqual(["src/http"]);
  expect(usersOf(/from "xstate(\/.*)?"/)).toEqual(["actors"]);
  expect(usersOf(/from "bun:sqlite"/)).toEqual(["src/store"]);
  expect(usersOf(/from "(prom-client|@opentelemetry)/)).toEqual(["src/telemetry"]);
  expect(usersOf(/(from |import\()"stripe"/)).toEqual(["src/billing"]);
  expect(usersOf(/from "mediabunny"/)).toEqual(["src/media", "src/simulator"]);
  // A script computes layouts in advance, so the product contains no layout engine.
  expect(usersOf(/from "elkjs/)).toEqual([]);
  // The client, the command line, the simulator, the torture clients and the pages are not part of the serving process.
  expect(
    usersOf(/(?<![.\w])fetch\(/).filter(
      (context) => !["client/src", "src/cli", "src/simulator", "src/torture", "web"].includes(context),
    ),
  ).toEqual(["src/files", "src/media", "src/providers"]);
});
