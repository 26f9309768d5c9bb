// Evaluates the watched alerts from the metrics of the nodes, without Prometheus and without the `for` time of the rules.
import type { Alert, Alerts, Firing } from "./alerts.ts";

type Figures = ReadonlyMap<string, number>;
type Look = { atMs: number; figures: Figures };

const EVERY_MS = 500;
const WINDOW_MS = { full: 300_000, unclear: 600_000 } as const;

const read = (text: string): Figures =>
  new Map(
    [...text.matchAll(/^(genrouter_\w+(?:\{[^}\n]*\})?) (\S+)$/gm)].map(([, name = "", value = ""]) => [name, Number(value)]),
  );
const grown = (now: Figures, before: Figures | undefined, name: string): number =>
  before === undefined ? 0 : (now.get(name) ?? 0) - (before.get(name) ?? 0);

/** The alerts of one node by its latest metrics and earlier ones. */
const wrongBy = (now: Figures, before: (ms: number) => Figures | undefined): Alert[] => {
  const isZero = (name: string) => now.get(name) === 0;
  const names = [...now.keys()];
  const grew = (pattern: RegExp, ms: number, least: number) =>
    names.some((name) => pattern.test(name) && grown(now, before(ms), name) >= least);
  const size = now.get("genrouter_disk_size_bytes") ?? 1;
  const share = (now.get("genrouter_disk_free_bytes") ?? size) / size;
  const wrong: [Alert, boolean][] = [
    ["DatabaseUnavailable", isZero("genrouter_database_available")],
    ["ObjectStorageUnavailable", isZero("genrouter_object_storage_available")],
    ["NotReady", isZero("genrouter_ready")],
    ["DiskAlmostFull", share < 0.05],
    ["DiskFull", grew(/^genrouter_log_events_total\{.*event="(?:database )?disk full"/, WINDOW_MS.full, 1)],
    ["UnclearSubmissions", grew(/^genrouter_attempts_total\{.*outcome="unclear"/, WINDOW_MS.unclear, 3)],
  ];
  return wrong.flatMap(([alert, isWrong]) => (isWrong ? [alert] : []));
};

export const watchGauges = (instances: readonly string[], times: number): Alerts => {
  const looks = new Map<string, Look[]>(instances.map((instance) => [instance, []]));
  const seen: (Firing & { atMs: number })[] = [];
  let isOver = false;
  const beforeAt = (all: readonly Look[], nowMs: number) => (ms: number) =>
    all.find(({ atMs }) => atMs >= nowMs - ms / times)?.figures;
  const firing = (instance: string): Firing[] => {
    const all = looks.get(instance) ?? [];
    const last = all.at(-1);
    return last === undefined ? [] : wrongBy(last.figures, beforeAt(all, last.atMs)).map((alert) => ({ alert, instance }));
  };
  const watch = async (instance: string): Promise<void> => {
    while (!isOver) {
      const atMs = Date.now();
      const answer = await fetch(`http://${instance}/metrics`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
      if (answer?.ok) {
        looks.get(instance)?.push({ atMs, figures: read(await answer.text()) });
        seen.push(...firing(instance).map((one) => ({ ...one, atMs })));
      }
      await Bun.sleep(EVERY_MS);
    }
  };
  const watching = Promise.all(instances.map(watch));
  return {
    by: "the gauges alone, without the `for` time of the rules: Prometheus is not installed, and `apt-get download prometheus` failed",
    since: async (fromMs, some) => seen.filter(({ atMs, instance }) => atMs >= fromMs && some.includes(instance)),
    now: async (some) => some.flatMap(firing),
    stop: async () => {
      isOver = true;
      await watching;
    },
  };
};
