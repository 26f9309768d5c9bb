// Meter: counts log events and HTTP requests for Prometheus.
//
// A start does not load the Prometheus client.
import type { EventFields, EventName } from "../logging/events.ts";
import { type CountEvent, createEventCounters, isCounted } from "./event-counters.ts";
import type { GaugeReadings } from "./gauge-readings.ts";
import { type About, createGauges } from "./gauges.ts";
import { type CountRequest, createRequests } from "./requests.ts";

export type Meter = {
  count: CountEvent;
  /** The counter for the requests of one endpoint. */
  requests: (route: string) => CountRequest;
  /** The metrics in the Prometheus text format. */
  print: (standing: GaugeReadings) => Promise<string>;
};

/**
 * Delay between the first counted event and the load of the registry, unless a scrape comes earlier. The first responses after a
 * start are sent by then. Earlier events are queued, so none is lost.
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
      // Concurrent scrapes receive the same values.
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
