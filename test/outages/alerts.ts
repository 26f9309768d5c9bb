// Evaluates the shipped alerts for the nodes of all trials, with a real Prometheus or with the gauges alone.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, start, until } from "../../src/torture/crash/processes.ts";
import { prometheusPath } from "../promtool.ts";
import { watchGauges } from "./gauges.ts";

export const WATCHED = [
  "DatabaseUnavailable",
  "ObjectStorageUnavailable",
  "DiskFull",
  "DiskAlmostFull",
  "UnclearSubmissions",
  "NotReady",
] as const;
export type Alert = (typeof WATCHED)[number];
/** An alert of a node. `instance` is `host:port`. */
export type Firing = { alert: Alert; instance: string };
export type Alerts = {
  /** A description of the evaluator, for the output. */
  by: string;
  /** The alerts that fired for these nodes at any time since `fromMs`. */
  since(fromMs: number, instances: readonly string[]): Promise<Firing[]>;
  /** The alerts that fire now. */
  now(instances: readonly string[]): Promise<Firing[]>;
  stop(): Promise<void>;
};

const RULES = join(import.meta.dir, "../../deploy/prometheus/alerts.yml");
/** The scrape interval of the shipped configuration, in s. */
const LOOK_S = 15;
const PREFIX = "Genrouter";
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The rules with all durations divided by `times`: `for`, range selectors, and hours in numbers. */
export const hasten = (rules: string, times: number): string => {
  const shorter = (number: string, unit: string) => `${Math.round((Number(number) * (UNIT_MS[unit] ?? 0)) / times)}ms`;
  return rules
    .replace(/^( *for: )(\d+)([smhd])$/gm, (_, before: string, number: string, unit: string) => before + shorter(number, unit))
    .replace(/\[(\d+)([smhd])\]/g, (_, number: string, unit: string) => `[${shorter(number, unit)}]`)
    .replace(/\* 3600\b/g, `* ${3600 / times}`);
};

type Series = { metric: Record<string, string> };
const firingOf = (series: readonly Series[], instances: readonly string[]): Firing[] =>
  series.flatMap(({ metric: { alertname = "", instance = "" } }) => {
    const alert = WATCHED.find((one) => `${PREFIX}${one}` === alertname);
    return alert !== undefined && instances.includes(instance) ? [{ alert, instance }] : [];
  });

/** @param times the divisor of all durations of the rules */
const startPrometheus = async (program: string, dir: string, instances: readonly string[], times: number): Promise<Alerts> => {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "alerts.yml"), hasten(readFileSync(RULES, "utf8"), times));
  const everyMs = Math.round((LOOK_S * 1000) / times);
  const configuration = `global: { scrape_interval: ${everyMs}ms, scrape_timeout: ${everyMs}ms, evaluation_interval: ${everyMs}ms }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: genrouter, static_configs: [{ targets: ${JSON.stringify(instances)} }] }]
`;
  writeFileSync(join(dir, "prometheus.yml"), configuration);
  const address = `127.0.0.1:${await freePort()}`;
  const child = start([
    ...[program, `--config.file=${join(dir, "prometheus.yml")}`, `--storage.tsdb.path=${join(dir, "data")}`],
    ...[`--web.listen-address=${address}`, "--log.level=warn"],
  ]);
  const asked = async <Data>(path: string, query: Record<string, string> = {}): Promise<Data> => {
    const answer = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(query)}`);
    const body = (await answer.json()) as { status: string; error?: string; data: Data };
    if (body.status !== "success") throw new Error(`Prometheus: ${body.error}`);
    return body.data;
  };
  await until("Prometheus", async () => (await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok);
  const query = 'ALERTS{alertstate="firing"}';
  return {
    by: `a real Prometheus with the rules of deploy/prometheus/alerts.yml, ${times === 1 ? "unchanged" : `with durations ${times} times shorter`}`,
    since: async (fromMs, some) => {
      const range = { start: String(fromMs / 1000), end: String(Date.now() / 1000), step: String(Math.max(everyMs, 250) / 1000) };
      return firingOf((await asked<{ result: Series[] }>("query_range", { query, ...range })).result, some);
    },
    // Not by a query, which finds a sample of the last five minutes if Prometheus did not record the end of an alert.
    now: async (some) => {
      const { alerts } = await asked<{ alerts: { labels: Record<string, string>; state: string }[] }>("alerts");
      return firingOf(
        alerts.filter(({ state }) => state === "firing").map(({ labels }) => ({ metric: labels })),
        some,
      );
    },
    stop: async () => {
      child.kill("SIGTERM");
      await child.ended;
    },
  };
};

/** @param instances the nodes of all trials, including those that do not run yet */
export const openAlerts = async (dir: string, instances: readonly string[], times: number): Promise<Alerts> => {
  const program = prometheusPath();
  return program === null ? watchGauges(instances, times) : await startPrometheus(program, dir, instances, times);
};
