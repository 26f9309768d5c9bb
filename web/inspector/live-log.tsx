// Event log, newest first, with time and states of each event.
import type { VNode } from "preact";
import type { SeenEvent } from "../../src/inspector/dto.ts";
import { Scrolling } from "./scrolling.tsx";

const DRAWN = 100;
const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

const Line = ({ event, choose }: { event: SeenEvent; choose: () => void }): VNode => (
  <li>
    <time dateTime={new Date(event.atMs).toISOString()}>{timeOf(event.atMs)}</time>
    <strong>{event.type}</strong>
    <span class="live-way">
      {event.from === null ? "" : `${event.from} → `}
      {event.to}
    </span>
    <button type="button" class="live-whose" onClick={choose}>
      {event.id}
    </button>
    {event.node === undefined ? null : <span class="live-node">{event.node}</span>}
    {event.more ? (
      <details>
        <summary>Event data</summary>
        <pre>{JSON.stringify(event.more, null, 2)}</pre>
      </details>
    ) : null}
  </li>
);

type Props = { events: readonly SeenEvent[]; leftOut: number; choose: (id: string) => void; clear: () => void };
/** Not a live region, because it would announce permanently. The user can pause it to read it. */
export const EventLog = ({ events, leftOut, choose, clear }: Props): VNode => (
  <section class="live-log" aria-label="Events">
    <div class="live-head">
      <h2>Events</h2>
      <button type="button" onClick={clear} disabled={events.length === 0}>
        Clear
      </button>
    </div>
    {leftOut > 0 ? <p>{leftOut} events were dropped because this page reads too slowly.</p> : null}
    {events.length === 0 ? <p class="live-nothing">No events yet.</p> : null}
    <Scrolling class="live-lines" label="Event log">
      <ol reversed>
        {events
          .slice(-DRAWN)
          .reverse()
          .map((event) => (
            <Line key={event.no} event={event} choose={() => choose(event.id)} />
          ))}
      </ol>
    </Scrolling>
  </section>
);
