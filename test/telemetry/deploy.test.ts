// Tests the Prometheus rules and the Grafana dashboard in deploy/ against the metrics of a real service.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFECT_EVENTS } from "../../src/logging/events.ts";
import { METRICS } from "../../src/telemetry/metrics.ts";
import { type Harness, openHarness } from "../harness.ts";
import { hasPromtool, promtool } from "../promtool.ts";
import { stall } from "../stall/harness.ts";
import { asked } from "./promql.ts";
import { samplesIn } from "./scraped.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");
const PROMETHEUS = join(DEPLOY, "prometheus");
const read = (path: string) => readFileSync(join(DEPLOY, path), "utf8");

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string; action: string } };
const rules = (Bun.YAML.parse(read("prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
type RuleTests = { tests: { promql_expr_test: { exp_samples: { labels: string }[] }[] }[] };
const RULE_TESTS = ["alerts.test.yml", "alerts-hour.test.yml", "alerts-slow.test.yml"];
const ruleTests = RULE_TESTS.flatMap((file) => (Bun.YAML.parse(read(`prometheus/${file}`)) as RuleTests).tests);

type Target = { expr: string; legendFormat: string };
type Panel = {
  title: string;
  type: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: Target[];
  fieldConfig?: { defaults: { unit?: string } };
};
type Dashboard = {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
  annotations: { list: { expr: string }[] };
};
const dashboard = JSON.parse(read("grafana/genrouter.json")) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== "row");

/** Replaces Grafana's variables in an expression; texts keep them. */
const filled = (expr: string) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$__range", "1h");
const targets = panels.flatMap(({ title, targets: own = [] }) =>
  own.map((target) => ({ title, ...target, expr: filled(target.expr) })),
);

/** Metrics of Prometheus itself and of the node exporter. */
const ELSEWHERE: Record<string, string[]> = {
  up: [],
  node_filesystem_avail_bytes: ["fstype", "device", "mountpoint"],
  node_filesystem_size_bytes: ["fstype", "device", "mountpoint"],
};
/** Labels that Prometheus adds to every sample. */
const ADDED = ["job", "instance"];

/** Labels by sample name, of a service in which every kind of event has occurred once. */
const reported = new Map<string, Set<string>>();
let harness: Harness;
beforeAll(async () => {
  // The backup metric is exported only if a backup directory is configured.
  harness = await openHarness({ env: { GENROUTER_BACKUP__DIR: join(tmpdir(), "no-such-backups") } });
  const input = { resolution: "480p", duration: 4 };
  await harness.until((await harness.submit("vidmodel-2.0-fast", { ...input, prompt: "[sim:fal:fail]" })).id);
  harness.simulator.script({ fault: "stuck", prompt: "stands" });
  await harness.submit("sim-image-1", { prompt: "stands" });
  const { text } = await harness.request("GET", "/metrics", { key: null });
  for (const { name, labels } of samplesIn(text))
    reported.set(name, new Set([...(reported.get(name) ?? []), ...Object.keys(labels)]));
  for (const [name, labels] of Object.entries(ELSEWHERE)) reported.set(name, new Set(labels));
});
afterAll(() => harness.close());

/** Names that an expression and its printed labels use, but no metric has. */
const untold = (expr: string, printed: readonly string[] = []): string[] => {
  const { metrics, grouped } = asked(expr);
  const faults = metrics.filter(({ name }) => !reported.has(name)).map(({ name }) => name);
  const known = new Set([...ADDED, ...metrics.flatMap(({ name }) => [...(reported.get(name) ?? [])])]);
  for (const { name, labels } of metrics)
    for (const label of labels) if (![...ADDED, ...(reported.get(name) ?? [])].includes(label)) faults.push(`${name}{${label}}`);
  for (const label of [...grouped, ...printed]) if (!known.has(label)) faults.push(`{${label}}`);
  if (metrics.length === 0) faults.push(`no metric in ${expr}`);
  return faults;
};
const printedIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, label = ""]) => label);

test("reports an unknown metric and an unknown label in a selector, a grouping or a text", () => {
  const seconds = "http_server_request_duration_seconds";
  expect(untold(`sum by (http_route, le) (rate(${seconds}_bucket{job="a,b",http_route!~"/x|{y}"}[5m])) > 0.5`)).toEqual([]);
  expect(untold(`rate(${seconds}_buckets[5m])`)).toEqual([`${seconds}_buckets`]);
  expect(untold(`${seconds}_count{route="x"} offset 5m`)).toEqual([`${seconds}_count{route}`]);
  expect(untold(`sum by (path) (${seconds}_count)`)).toEqual(["{path}"]);
  expect(untold("genrouter_ready == bool 1", ["model"])).toEqual(["{model}"]);
  expect(untold("a{x='1'} / on (y) group_left (z) b")).toEqual(["a", "b", "a{x}", "{y}", "{z}"]);
  expect(() => untold("genrouter_ready; drop")).toThrow("not PromQL");
});

describe("the alerts", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s uses existing metrics and labels, and has a severity, a summary and an action",
    (_name, rule) => {
      const { expr, labels, annotations } = rule;
      expect(untold(expr, printedIn(`${annotations.summary} ${annotations.action}`, /\$labels\.(\w+)/g))).toEqual([]);
      expect(["critical", "warning"]).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(20);
      expect(annotations.action.length).toBeGreaterThan(40);
    },
  );

  test("each has a test in which it fires, and every log event in their expressions exists", () => {
    const fired = ruleTests.flatMap(({ promql_expr_test: tests }) =>
      tests.flatMap(({ exp_samples: samples }) => samples.flatMap(({ labels }) => printedIn(labels, /alertname="(\w+)"/g))),
    );
    expect(rules.map(({ alert }) => alert).filter((alert) => !fired.includes(alert))).toEqual([]);
    const events = printedIn(rules.map(({ expr }) => expr).join("\n"), /event=~?"([^"]+)"/g).flatMap((words) => words.split("|"));
    const lines = read("../src/logging/events.ts");
    expect(events.filter((event) => !lines.includes(`"${event}": `))).toEqual([]);
  });

  test("GenrouterDefects contains every log event that reports a defect", () => {
    const defects = rules.find(({ alert }) => alert === "GenrouterDefects");
    const named = printedIn(defects?.expr ?? "", /event=~"([^"]+)"/g).flatMap((names) => names.split("|"));
    expect(new Set(named)).toEqual(new Set<string>(DEFECT_EVENTS));
  });

  test.skipIf(!hasPromtool)(
    "promtool accepts the rules, their tests and the example configuration",
    () =>
      stall.pause(() => {
        expect(promtool(["check", "rules", "alerts.yml"], { cwd: PROMETHEUS })).toMatchObject({ ok: true });
        expect(promtool(["test", "rules", ...RULE_TESTS], { cwd: PROMETHEUS })).toMatchObject({ ok: true });
        expect(promtool(["check", "config", "--syntax-only", "prometheus.yml"], { cwd: PROMETHEUS })).toMatchObject({ ok: true });
      }),
    60_000,
  );
});

describe("the dashboard", () => {
  test.each(targets.map(({ title, expr, legendFormat }) => [title, expr, legendFormat] as const))(
    "%s: %s",
    (_title, expr, legend) => {
      expect(untold(expr, printedIn(legend, /\{\{(\w+)\}\}/g))).toEqual([]);
    },
  );

  test("its variables and annotations use existing metrics and labels", () => {
    for (const { expr } of dashboard.annotations.list) expect(untold(expr)).toEqual([]);
    const variables = dashboard.templating.list.flatMap(({ definition }) => (definition ? [definition] : []));
    for (const definition of variables) {
      const [, expr = "", label = ""] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
      expect(untold(expr, [label])).toEqual([]);
    }
    const names = dashboard.templating.list.map(({ name }) => name);
    const used = printedIn(targets.map(({ expr }) => expr).join("\n"), /\$(\w+)/g);
    expect([...new Set(used)].filter((name) => !names.includes(name))).toEqual([]);
  });

  test("every panel has a unit and a description, and no panels overlap", () => {
    expect(panels.length).toBeGreaterThan(20);
    for (const { title, description = "", fieldConfig } of panels) {
      expect([title, description.length > 15, Boolean(fieldConfig?.defaults.unit)]).toEqual([title, true, true]);
    }
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("every metric of METRICS is in a panel or an alert", () => {
    const names = [...targets, ...rules].flatMap(({ expr }) =>
      asked(expr).metrics.map(({ name }) => name.replace(/_(bucket|sum|count)$/, "")),
    );
    expect(Object.keys(METRICS).filter((name) => !names.includes(name))).toEqual([]);
  });

  test.skipIf(!hasPromtool)("promtool accepts every expression", async () => {
    const dir = mkdtempSync(join(tmpdir(), "dashboard-"));
    const file = join(dir, "rules.yml");
    const lines = targets.map(({ expr }, at) => `      - record: panel:${at}\n        expr: ${JSON.stringify(expr)}`);
    writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${lines.join("\n")}\n`);
    expect(await stall.pause(() => promtool(["check", "rules", file]))).toMatchObject({ ok: true });
    rmSync(dir, { recursive: true });
  });
});
