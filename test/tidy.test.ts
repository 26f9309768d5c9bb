// The house keeps its own rules: who may import whom, how long a file is, how it begins, and which words it avoids.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "..");
const list = (pattern: string) => [...new Glob(pattern).scanSync({ cwd: root })].sort();
const SOURCES = [
  ...["src", "actors", "catalogue", "proof"].flatMap((dir) => list(`${dir}/**/*.ts`)),
  ...list("web/**/*.{ts,tsx}"),
  // The types of the client are generated.
  ...list("client/src/*.ts").filter((path) => path !== "client/src/api.ts"),
];
const TESTS = list("test/**/*.ts");
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Rooms: what a path belongs to, the longest prefix first. */
const ROOMS = [
  "src/store",
  "src/backup",
  "src/http",
  "src/quote",
  "src/providers",
  "src/media",
  "src/inputs",
  "src/files",
  "src/effects",
  "src/payments",
  "src/simulator",
  "src/telemetry",
  "src/office",
  "src/console",
  "src/inspector",
  "src/cli",
  "actors",
  "catalogue",
  "client/src",
  "proof",
  "web",
];
/** The words everybody may use, what makes two requests one, and ways to remember. */
const WORDS = [
  "src/terms.ts",
  ...["src/decision.ts", "src/deeds.ts"],
  "src/purchase.ts",
  "src/people-deeds.ts",
  "src/refusal.ts",
  "src/clock.ts",
  "src/days.ts",
  "src/ids.ts",
  "src/once.ts",
  "src/ordered.ts",
  "src/recent.ts",
  "src/idempotency.ts",
  "src/shelves.ts",
  "src/long-list.ts",
  ...["src/networks.ts", "src/database-url.ts"],
  "src/content-coding.ts",
  "src/kept-connections.ts",
];
/** The hall: the only files that know every room. */
const HALL = [
  "src/hall.ts",
  ...["src/engine.ts", "src/engine-words.ts"],
  ...["src/rooms.ts", "src/joined-media.ts"],
  "src/routes.ts",
  "src/records.ts",
  "src/attempts.ts",
  ...["src/late.ts", "src/recovery.ts"],
  ...["src/called.ts", "src/committed.ts", "src/watching.ts"],
  ...["src/facts.ts", "src/mismatches.ts"],
  ...["src/standing.ts", "src/offer.ts", "src/reload.ts", "src/restored-backup.ts"],
  ...["src/opening.ts", "src/operating.ts", "src/start-checks.ts"],
  ...["src/membership.ts", "src/neighbours.ts"],
  ...["src/door.ts", "src/readiness.ts", "src/stuck.ts"],
  "src/sharing.ts",
  "src/tenure.ts",
  ...["src/kept-files.ts", "src/disk-room.ts", "src/sweeping.ts"],
  "src/upkeep.ts",
  "src/embedded-simulator.ts",
  "src/main.ts",
];

/** Doors: what a room may import besides the words and itself. `type:` means its types only. */
const DOORS: Record<string, string[]> = {
  ...Object.fromEntries(WORDS.map((word) => [word, []])),
  ...{ "src/media-settings.ts": [], "src/config.ts": ["src/media-settings.ts", "src/setting-formats.ts"] },
  "src/settings.ts": [
    "src/config.ts",
    ...["src/settings-file.ts", "src/settings-places.ts", "src/settings-value.ts"],
    ...["src/service-variables.ts", "src/well-known-keys.ts"],
  ],
  "src/settings-value.ts": [],
  "src/settings-places.ts": ["type:src/settings.ts"],
  "src/settings-file.ts": ["src/config.ts", "src/settings-places.ts", "type:src/settings.ts"],
  "src/events.ts": [],
  "src/log.ts": ["src/events.ts", "src/log-pretty.ts", "type:src/config.ts"],
  ...{ "src/log-pretty.ts": [], "src/clock-watch.ts": ["type:src/events.ts"] },
  catalogue: [],
  // A package of its own: nothing of the service is in it, only what openapi.json says.
  "client/src": [],
  actors: [],
  "src/quote": ["catalogue", "src/inputs"],
  "src/inputs": ["catalogue", "src/media/guard.ts", "type:src/providers"],
  "src/providers": ["src/inputs"],
  "src/media": ["type:src/files", "src/files/port.ts", "src/files/spool.ts"],
  "src/files": [],
  "src/store": [],
  "src/backup": [
    ...["src/store/sqlite", "src/store/faults.ts", "src/files/local.ts", "src/files/port.ts"],
    ...["type:src/config.ts", "type:src/events.ts"],
  ],
  "src/simulator": ["src/media/sandbox/sandbox.ts", "type:src/media/second-reading.ts"],
  "src/telemetry": ["src/events.ts", "type:src/store"],
  "src/inspector": [
    "actors",
    "src/http/peer.ts",
    "type:src/http/sockets.ts",
    ...["type:src/committed.ts", "type:src/neighbours.ts"],
    "type:src/config.ts",
    "type:src/store",
  ],
  "src/effects": [
    "type:src/store",
    "type:src/providers",
    "type:src/media",
    "src/inputs",
    ...["type:src/files", "src/files/port.ts", "src/files/disk.ts", "src/store/faults.ts", "type:src/events.ts"],
    ...["type:actors", "actors/route-health.ts"],
  ],
  "src/payments": ["src/config.ts", "type:src/events.ts", "type:src/store"],
  "src/callbacks.ts": ["type:src/store", "type:src/providers"],
  "src/provider-keys.ts": ["src/config.ts", "src/settings-places.ts", "src/vault.ts", "type:src/store"],
  "src/market.ts": ["catalogue", "type:src/config.ts", "src/provider-keys.ts", "type:src/providers", "type:src/store"],
  "src/reconcile.ts": ["type:src/providers", "type:src/store"],
  "src/submit.ts": ["catalogue", "src/quote", "src/inputs", "type:src/store"],
  "src/quoting.ts": ["catalogue", "src/quote", "src/submit.ts"],
  "src/http": [
    "src/submit.ts",
    "type:src/callbacks.ts",
    "catalogue",
    "src/events.ts",
    "src/config.ts",
    "type:src/store",
    "src/store/faults.ts",
    "type:src/files",
    ...["src/files/serve.ts", "src/files/port.ts"],
  ],
  "src/office": [
    "type:src/store",
    ...["type:src/submit.ts", "type:src/decision.ts"],
    "catalogue",
    "type:src/market.ts",
    "type:src/providers",
    ...["src/providers/desk.ts", "src/vault.ts", "src/upkeep.ts"],
  ],
  "src/console": [
    "type:src/store",
    ...["src/store/store.ts", "src/store/node.ts"],
    "src/payments/refused.ts",
    "type:src/payments",
    "type:src/config.ts",
    ...["type:src/events.ts", "src/office", "type:src/submit.ts", "type:src/files", "type:src/market.ts"],
    "catalogue",
    ...["src/http/body.ts", "src/http/coding.ts", "src/http/peer.ts"],
    "src/http/errors.ts",
    "src/http/same-secret.ts",
    "src/inspector",
    ...["type:src/quoting.ts", "type:src/media/thumbnail.ts"],
    "type:src/quote",
    ...["type:src/committed.ts", "type:src/neighbours.ts"],
    "src/http/envelope.ts",
    "src/http/content.ts",
  ],
  "src/cli": ["*"],
  proof: ["*"],
  // What runs in browsers: the machines, the words, and the shapes of what it is answered.
  web: [
    "type:catalogue/entry.ts",
    "actors",
    "src/quote/words.ts",
    "type:src/console",
    ...["src/console/operator-wire.ts", "src/console/needs-https.ts"],
    "type:catalogue",
    "type:src/inspector",
    "type:src/http/pages/web-files.ts",
    "type:src/store/store.ts",
  ],
};

const roomOf = (path: string) => ROOMS.find((room) => path.startsWith(`${room}/`)) ?? path;

type Import = { from: string; to: string; isType: boolean };
const importsOf = (path: string): Import[] =>
  [...read(path).matchAll(/^\s*(?:import|export)\s(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm)].map((match) => ({
    from: path,
    to: relative(root, resolve(root, dirname(path), match[2] ?? match[3] ?? "")),
    isType: match[1] !== undefined,
  }));

const mayImport = ({ from, to, isType }: Import): boolean => {
  const room = roomOf(from);
  if (HALL.includes(from) || WORDS.includes(to) || roomOf(to) === room) return true;
  return (DOORS[room] ?? []).some((door) => {
    const path = door.replace(/^type:/, "");
    const fits = path === "*" || to === path || to.startsWith(`${path}/`);
    return fits && (isType || !door.startsWith("type:"));
  });
};

test("rooms open onto each other only through the doors", () => {
  expect(SOURCES.length).toBeGreaterThan(80);
  const all = SOURCES.flatMap(importsOf);
  expect(all.length).toBeGreaterThan(200);
  expect(
    all.filter((each) => !mayImport(each)).map(({ from, to, isType }) => `${from} → ${to}${isType ? " (type)" : ""}`),
  ).toEqual([]);
});

test("a package lives in one room, and sockets open in few", () => {
  const usersOf = (pattern: RegExp) => [...new Set(SOURCES.filter((path) => pattern.test(read(path))).map(roomOf))].sort();
  expect(usersOf(/from "elysia"/)).toEqual(["src/http"]);
  expect(usersOf(/from "xstate(\/.*)?"/)).toEqual(["actors"]);
  expect(usersOf(/from "bun:sqlite"/)).toEqual(["src/store"]);
  expect(usersOf(/from "(prom-client|@opentelemetry)/)).toEqual(["src/telemetry"]);
  expect(usersOf(/(from |import\()"stripe"/)).toEqual(["src/payments"]);
  expect(usersOf(/from "mediabunny"/)).toEqual(["src/media", "src/simulator"]);
  // Layouts are found ahead, by a script: no engine is shipped.
  expect(usersOf(/from "elkjs/)).toEqual([]);
  // The client, the simulator and the clients of the proof are ends of their own.
  expect(
    usersOf(/(?<![.\w])fetch\(/).filter((room) => !["client/src", "src/cli", "src/simulator", "proof", "web"].includes(room)),
  ).toEqual(["src/files", "src/media", "src/providers"]);
});

test("the statecharts know no clock, no network, no database and no Bun", () => {
  const impure = /\bDate\b|\bMath\.random\b|\bsetTimeout\b|\bfetch\(|\bBun\.|\bprocess\.|from "node:|bun:sqlite/;
  expect(list("actors/**/*.ts").filter((path) => impure.test(read(path).replace(/^\s*(\/\/|\*|\/\*).*$/gm, "")))).toEqual([]);
});

test("SQL is written only in the store", () => {
  const sql = /\b(SELECT|INSERT INTO|DELETE FROM)\b[^"'`]*\b(FROM|INTO|VALUES|WHERE)\b/;
  expect(SOURCES.filter((path) => !path.startsWith("src/store/") && sql.test(read(path)))).toEqual([]);
});

test("a file is at most 300 lines and begins with one sentence that says what it is for", () => {
  const faults: string[] = [];
  for (const path of [...SOURCES, ...TESTS, ...list("scripts/*.{ts,mjs}")]) {
    const text = read(path);
    const lines = text.split("\n").length - 1;
    if (lines > 300) faults.push(`${path}: ${lines} lines`);
    if (path.endsWith(".d.ts")) continue;
    const [first = "", second = ""] = text.split("\n");
    const sentence = second.startsWith("// ") ? `${first} ${second.slice(3)}` : first;
    if (!/^\/\/ [A-Za-z`"].{15,}[.)`]$/.test(sentence)) faults.push(`${path}: begins with ${JSON.stringify(first)}`);
  }
  expect(faults).toEqual([]);
});

test("half of the files are short", () => {
  const lengths = SOURCES.map((path) => read(path).split("\n").length).sort((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(150);
});

/** Words that say nothing, in the names that we give: declarations, parameters excepted where a library names them. */
const BANNED = /^(get|handle|process|manage|data|info|util)(?=[A-Z]|$)|(Handler|Manager|Data|Info|Util|Utils|Helper|Helpers)$/;
test("names avoid the words that say nothing", () => {
  const faults: string[] = [];
  for (const path of SOURCES)
    for (const match of read(path).matchAll(/\b(?:const|let|function|class|type|interface|enum)\s+([A-Za-z_$][\w$]*)/g))
      if (BANNED.test(match[1] ?? "")) faults.push(`${path}: ${match[1]}`);
  expect(faults).toEqual([]);
  const folders = SOURCES.filter((path) => /\/(utils?|helpers?|lib|common|services?|core)(\/|\.ts$)/.test(path));
  expect(folders).toEqual([]);
  expect(SOURCES.filter((path) => /\/index\.ts$/.test(path))).toEqual([]);
});

test("nothing is exported by default, typed `any`, or left to do", () => {
  const faults: string[] = [];
  for (const path of [...SOURCES, ...TESTS]) {
    if (path.endsWith(".d.ts") || path === "test/tidy.test.ts") continue;
    const text = read(path);
    if (/^export default\b/m.test(text)) faults.push(`${path}: default export`);
    if (
      /[:<(|]\s*any\b(?!\s+[a-z])|\bas any\b/.test(text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "").replace(/`[^`]*`|"[^"]*"/g, '""'))
    )
      faults.push(`${path}: any`);
    if (/\b(TODO|FIXME|XXX)\b/.test(text)) faults.push(`${path}: something left to do`);
  }
  expect(faults).toEqual([]);
});
