// List of registered actors, newest first, shown in pages.
import { Check, Circle, type IconNode } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActorRow } from "../../src/inspector/dto.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { number } from "./format.ts";
import { stateName } from "./state-name.ts";

/** Number of rows shown at first, and added by each press of the button. */
const PAGE = 100;

/** `12 s`, `3 min`, `2 h`, `5 d` */
export const age = (ms: number): string => {
  const { live: text } = words.inspector;
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return text.seconds(seconds);
  if (seconds < 7_200) return text.minutes(Math.floor(seconds / 60));
  return seconds < 172_800 ? text.hours(Math.floor(seconds / 3600)) : text.days(Math.floor(seconds / 86_400));
};

/** A circle is filled if the actor is in memory. */
const SIGN: Record<ActorRow["actor"], IconNode> = { live: Circle, none: Circle, ended: Check };

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
  const { live: text } = words.inspector;
  const about = [row.node, row.model, row.route, row.account?.name || row.account?.id].filter(Boolean).join(" · ");
  return (
    <li class={`is-${row.actor}`}>
      <button type="button" onClick={choose} aria-pressed={isChosen} title={about}>
        <span class="live-sign" title={text.actor[row.actor]} role="img" aria-label={text.actor[row.actor]}>
          <Icon of={SIGN[row.actor]} size={12} />
        </span>
        <span class="live-name">{row.name}</span>
        <span class="live-age">{row.bornAtMs === null ? "" : age(nowMs - row.bornAtMs)}</span>
        <span class="live-state">{stateName(row.kind, row.state)}</span>
        <span class="live-about">{row.model ?? text.kinds[row.kind]}</span>
      </button>
    </li>
  );
};

type Props = { rows: readonly ActorRow[]; all: number; nowMs: number; chosen: string | null; choose: (id: string) => void };
export const ActorList = ({ rows, all, nowMs, chosen, choose }: Props): VNode => {
  const [most, setMost] = useState(PAGE);
  const { live: text } = words.inspector;
  const drawn = rows.slice(0, most);
  return (
    <section class="live-list" aria-label={text.actors}>
      <h2>
        {text.actors}{" "}
        <span class="live-count">{rows.length === all ? number(all) : text.ofAll(number(rows.length), number(all))}</span>
      </h2>
      {rows.length === 0 ? <p class="live-nothing">{all === 0 ? text.noActors : text.noMatch}</p> : null}
      <ul>
        {drawn.map((row) => (
          <Row key={row.id} row={row} nowMs={nowMs} isChosen={row.id === chosen} choose={() => choose(row.id)} />
        ))}
      </ul>
      {rows.length > most ? (
        <button type="button" class="button is-small" onClick={() => setMost(most + PAGE)}>
          {text.showMore(rows.length - most)}
        </button>
      ) : null}
    </section>
  );
};
