// List of registered actors, newest first, shown in pages.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActorRow } from "../../src/inspector/dto.ts";

/** Number of rows shown at first, and added by each press of the button. */
const PAGE = 100;

/** `12 s`, `3 min`, `2 h`, `5 d` */
export const age = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
};

const ACTOR: Record<ActorRow["actor"], { sign: string; text: string }> = {
  live: { sign: "●", text: "actor in memory" },
  none: { sign: "○", text: "no actor in memory: queued or passivated" },
  ended: { sign: "✓", text: "ended" },
};

const Row = ({
  row,
  nowMs,
  isChosen,
  choose,
}: {
  row: ActorRow;
  nowMs: number;
  isChosen: boolean;
  choose: () => void;
}): VNode => {
  const { sign, text } = ACTOR[row.actor];
  const about = [row.node, row.model, row.route, row.account?.name || row.account?.id].filter(Boolean).join(" · ");
  return (
    <li class={`is-${row.actor}`}>
      <button type="button" onClick={choose} aria-pressed={isChosen}>
        <span class="live-sign" title={text} role="img" aria-label={text}>
          {sign}
        </span>
        <span class="live-name">{row.name}</span>
        <span class="live-state">{row.state}</span>
        <span class="live-about">{about || row.kind}</span>
        <span class="live-age">{row.bornAtMs === null ? "" : age(nowMs - row.bornAtMs)}</span>
      </button>
    </li>
  );
};

type Props = { rows: readonly ActorRow[]; all: number; nowMs: number; chosen: string | null; choose: (id: string) => void };
export const ActorList = ({ rows, all, nowMs, chosen, choose }: Props): VNode => {
  const [most, setMost] = useState(PAGE);
  const drawn = rows.slice(0, most);
  return (
    <section class="live-list" aria-label="Actors">
      <h2>
        Actors <span class="live-count">{rows.length === all ? all : `${rows.length} of ${all}`}</span>
      </h2>
      {rows.length === 0 ? <p class="live-nothing">{all === 0 ? "No actors." : "No actor matches the filter."}</p> : null}
      <ul>
        {drawn.map((row) => (
          <Row key={row.id} row={row} nowMs={nowMs} isChosen={row.id === chosen} choose={() => choose(row.id)} />
        ))}
      </ul>
      {rows.length > most ? (
        <button type="button" onClick={() => setMost(most + PAGE)}>
          Show more ({rows.length - most} not shown)
        </button>
      ) : null}
    </section>
  );
};
