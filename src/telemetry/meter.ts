// The meter: counts what passes through the log and at the door, and tells it to Prometheus; a start does not load what it takes.
import type { EventFields, EventName } from "../logging/events.ts";
import { type CountEvent, createEventCounters, isCounted } from "./event-counters.ts";
import type { GaugeReadings } from "./gauge-readings.ts";
import { type About, createGauges } from "./gauges.ts";
import { type CountRequest, createRequests } from "./requests.ts";

export type Meter = {
  count: CountEvent;
  /** Counts the requests of one path of the table. */
  requests: (route: string) => CountRequest;
  /** The text for Prometheus. */
  print: (standing: GaugeReadings) => Promise<string>;
};

/**
 * So long after the first thing to be counted the registry is loaded, unless somebody looks before. The first answers of a start are out
 * by then; what is counted until then waits as it came, and none of it is lost.
 */
const LOAD_AFTER_MS = 1_000;

type Loaded = { count: CountEvent; print: (standing: GaugeReadings) => Promise<string> };

export const createMeter = (about: About): Meter => {
  const requests = createRequests();
  let waiting: [event: EventName, fields: EventFields][] = [];
  let loaded: Loaded | undefined;
  let loading: Promise<Loaded> | undefined;

  const load = async (): Promise<Loaded> => {
    const { createRegistry } = await import("./registry.ts");
    const registered = createRegistry(requests);
    const count = createEventCounters(registered);
    let fill: (() => Promise<void>) | undefined;
    let filling: Promise<void> | undefined;
    const print = async (standing: GaugeReadings): Promise<string> => {
      fill ??= createGauges(registered, about, standing);
      // Two that look at the same time are shown the same.
      filling ??= fill().finally(() => {
        filling = undefined;
      });
      await filling;
      return registered.print();
    };
    for (const [event, fields] of waiting) count(event, fields);
    waiting = [];
    loaded = { count, print };
    return loaded;
  };
  const ready = (): Promise<Loaded> => {
    loading ??= load();
    return loading;
  };

  return {
    count: (event, fields) => {
      if (loaded) return loaded.count(event, fields);
      if (!isCounted(event)) return;
      if (waiting.push([event, fields]) === 1) setTimeout(() => void ready(), LOAD_AFTER_MS).unref();
    },
    requests: requests.of,
    print: async (standing) => (await ready()).print(standing),
  };
};
