// Event log, newest first, with the selected event and the context of the actor beside it.
//
// The list follows the newest event until it is scrolled. Then it stays as it is and counts the events that it does not show.
import { Trash2 } from "lucide";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ActorKind, ChosenActor, SeenEvent } from "../../src/inspector/dto.ts";
import { Icon } from "../components/icon.tsx";
import { Tabs } from "../components/tabs.tsx";
import { words } from "../words/inspector-words.ts";
import { FromTo } from "./arrow.tsx";
import { LiveMemory } from "./context-panel.tsx";
import { clockText } from "./format.ts";
import { Scrolling } from "./scrolling.tsx";
import { stateName } from "./state-name.ts";

const DRAWN = 100;
/** A list that is scrolled by less still follows. */
const FOLLOWS_WITHIN = 8;

type Moved = Pick<SeenEvent, "kind" | "from" | "to"> & { kind: ActorKind };
const namesOf = ({ kind, from, to }: Moved) => ({ from: from === null ? null : stateName(kind, from), to: stateName(kind, to) });

/** The text that the filter searches. */
const wayText = (event: Moved): string => {
  const { from, to } = namesOf(event);
  return `${from === null ? "" : `${from} → `}${to}`;
};

const isWanted = (event: SeenEvent, text: string): boolean =>
  text === "" || [event.type, event.id, wayText(event), event.node ?? ""].some((each) => each.toLowerCase().includes(text));

type LineProps = { event: SeenEvent; isSelected: boolean; isReached: boolean; select: () => void };
const Line = ({ event, isSelected, isReached, select }: LineProps): VNode => (
  <li>
    <button type="button" class="live-event" aria-pressed={isSelected} tabIndex={isReached ? 0 : -1} onClick={select}>
      <time dateTime={new Date(event.atMs).toISOString()}>{clockText(event.atMs)}</time>
      <strong>{event.type}</strong>
      <span class="live-way">
        <FromTo {...namesOf(event)} />
      </span>
      <span class="live-whose">{event.id}</span>
      {event.node === undefined ? null : <span class="live-node">{event.node}</span>}
    </button>
  </li>
);

const Payload = ({ event, choose }: { event: SeenEvent | null; choose: (id: string) => void }): VNode => {
  const { events: text } = words.inspector;
  if (event === null) return <p class="live-nothing">{text.selectOne}</p>;
  return (
    <section class="live-payload" aria-label={text.payload}>
      <p>
        <strong>{event.type}</strong>{" "}
        <span class="live-way">
          <FromTo {...namesOf(event)} />
        </span>
      </p>
      <p class="live-payload-of">
        <button type="button" class="button is-small" onClick={() => choose(event.id)}>
          {text.follow(event.id)}
        </button>
        {event.version === undefined ? null : <span class="muted">{text.version(event.version)}</span>}
      </p>
      {event.more ? <pre>{JSON.stringify(event.more, null, 2)}</pre> : <p class="live-nothing">{text.noPayload}</p>}
    </section>
  );
};

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

type ListProps = { shown: readonly SeenEvent[]; selected: SeenEvent | null; select: (event: SeenEvent) => void };
/** One line is in the tab order; arrow keys select its neighbours. */
const Lines = ({ shown, selected, select }: ListProps): VNode => {
  const list = useRef<HTMLOListElement>(null);
  const place = shown.findIndex(({ no }) => no === selected?.no);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(shown.length - 1, Math.max(0, place + step));
    const to = shown[next];
    if (!to) return;
    select(to);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementInteractions: the lines are buttons; arrow keys move between them
    <ol reversed ref={list} onKeyDown={onKeyDown}>
      {shown.map((event, at) => (
        <Line
          key={event.no}
          event={event}
          isSelected={at === place}
          isReached={at === Math.max(0, place)}
          select={() => select(event)}
        />
      ))}
    </ol>
  );
};

/** The events that the list shows: all, or those that were there when it was scrolled. */
const useFollowing = (events: readonly SeenEvent[]) => {
  const [held, setHeld] = useState<readonly SeenEvent[] | null>(null);
  const last = held?.at(-1)?.no ?? 0;
  return {
    listed: held ?? events,
    unseen: held === null ? 0 : events.filter(({ no }) => no > last).length,
    onScroll: ({ currentTarget }: { currentTarget: HTMLElement }) => {
      const isAtTop = currentTarget.scrollTop <= FOLLOWS_WITHIN;
      if (isAtTop) setHeld(null);
      else setHeld((before) => before ?? events);
    },
    follow: () => setHeld(null),
  };
};

type Props = {
  events: readonly SeenEvent[];
  leftOut: number;
  /** True if the events are those of one actor, whose context is then shown first. */
  isFollowing: boolean;
  chosen: ChosenActor | null;
  prompts: boolean;
  choose: (id: string) => void;
  clear: () => void;
};
/** Not a live region, because it would announce permanently. The user can pause it to read it. */
export const EventLog = ({ events, leftOut, isFollowing, chosen, prompts, choose, clear }: Props): VNode => {
  const { events: text } = words.inspector;
  const [filter, setFilter] = useState("");
  const [selected, setSelected] = useState<SeenEvent | null>(null);
  const [tab, setTab] = useState<"payload" | "context">(isFollowing ? "context" : "payload");
  const { listed, unseen, onScroll, follow } = useFollowing(events);
  const frame = useRef<HTMLElement>(null);
  const shown = listed
    .filter((event) => isWanted(event, filter.trim().toLowerCase()))
    .slice(-DRAWN)
    .reverse();
  const select = (event: SeenEvent) => {
    setSelected(event);
    setTab("payload");
  };
  const toTop = () => {
    follow();
    frame.current?.scrollTo({ top: 0, behavior: "instant" });
  };
  return (
    <section class="live-log" aria-label={text.title}>
      <div class="live-events">
        <div class="live-head">
          <h2>{text.title}</h2>
          <input
            type="search"
            aria-label={text.filter}
            placeholder={text.filter}
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
          <button type="button" class="button is-small" onClick={clear} disabled={events.length === 0}>
            <Icon of={Trash2} size={16} />
            {text.clear}
          </button>
        </div>
        {leftOut > 0 ? <p>{text.leftOut(leftOut)}</p> : null}
        {shown.length === 0 ? <p class="live-nothing">{events.length === 0 ? text.none : text.noMatch}</p> : null}
        <Scrolling class="live-lines" label={text.log} frame={frame} onScroll={onScroll}>
          <Lines {...{ shown, selected, select }} />
        </Scrolling>
        {unseen > 0 && (
          <button type="button" class="button is-small is-main live-unseen" onClick={toTop}>
            {text.showNew(unseen)}
          </button>
        )}
      </div>
      <div class="live-detail">
        <Tabs
          label={text.detail}
          tabs={[
            { name: "payload", label: text.payload },
            { name: "context", label: text.context },
          ]}
          current={tab}
          choose={setTab}
        >
          {tab === "payload" ? <Payload event={selected} choose={choose} /> : <LiveMemory chosen={chosen} prompts={prompts} />}
        </Tabs>
      </div>
    </section>
  );
};
