// `/inspector`: live view of all actors, the selected statechart, and the event log with payload and context.
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ActorKind } from "../../src/inspector/dto.ts";
import { me } from "../components/api.ts";
import { words } from "../words/inspector-words.ts";
import { Connect, type RequestToken } from "./connect.tsx";
import { ConnectionBar } from "./connection-status.tsx";
import { number } from "./format.ts";
import { createLiveFeed, eventsOf, type LiveFeed } from "./live-feed.ts";
import { FilterBar, isWanted, NO_FILTER } from "./live-filter.tsx";
import { ActorList } from "./live-list.tsx";
import { EventLog } from "./live-log.tsx";
import { Chosen } from "./selected-actor.tsx";
import { Splitter } from "./splitter.tsx";

/** `liveUrl`: WebSocket of this page; `openUrl`: WebSocket of the open protocol. */
export type LiveProps = { liveUrl: string; openUrl: string; requestToken: RequestToken };

const Totals = ({ feed }: { feed: LiveFeed }): VNode | null => {
  const { totals } = feed.shown.value;
  if (totals === null) return null;
  const { live: text } = words.inspector;
  const { queued, running, live, nodes, unlisted } = totals;
  const facts: [string, number][] = [
    [text.queued, queued],
    [text.running, running],
    ...(nodes === undefined ? [] : [[text.nodes, nodes] as [string, number]]),
    [nodes === undefined ? text.inMemory : text.inMemoryHere, live],
    ...(unlisted > 0 ? [[text.unlisted, unlisted] as [string, number]] : []),
  ];
  return (
    <ul class="live-totals" aria-label={text.totals}>
      {facts.map(([name, count]) => (
        <li key={name}>
          <strong>{number(count)}</strong> {name}
        </li>
      ))}
    </ul>
  );
};

/** With the simulator, this machine needs no sign-in; the page says so to a reader who did not sign in. */
const OpenNotice = ({ feed }: { feed: LiveFeed }): VNode | null =>
  feed.connection.value === "live" && me.value?.signedIn === null ? <p class="live-open">{words.inspector.live.open}</p> : null;

export const LiveView = ({ liveUrl, openUrl, requestToken }: LiveProps): VNode => {
  const feed = useMemo(() => createLiveFeed(liveUrl), [liveUrl]);
  useEffect(() => () => feed.close(), [feed]);
  const panes = useRef<HTMLDivElement>(null);
  const filter = useSignal(NO_FILTER);
  const choice = useSignal<string | null>(null);
  const { rows, events, counts, chosen, lastOf, nowMs, leftOut } = feed.shown.value;
  const mine = choice.value === null ? [] : eventsOf(feed.shown.value, choice.value);

  const wanted = rows.filter((row) => isWanted(row, filter.value));
  const wantedIds = new Set(wanted.map(({ id }) => id));
  const isFiltered = Object.values(filter.value).some((value) => value !== "");
  const logged = choice.value === null ? events.filter(({ id }) => !isFiltered || wantedIds.has(id)) : mine;
  const choose = (id: string | null) => {
    choice.value = id;
    feed.choose(id);
  };
  const row = choice.value === null ? null : (rows.find(({ id }) => id === choice.value) ?? chosen?.row ?? null);
  const onState = (kind: ActorKind, state: string) => {
    // A second press removes the filter.
    const isSet = filter.value.kind === kind && filter.value.state === state;
    filter.value = isSet ? NO_FILTER : { ...NO_FILTER, kind, state };
  };
  return (
    <div class="live">
      <ConnectionBar connection={feed.connection.value} isPaused={feed.isPaused.value} pause={feed.pause} tryNow={feed.tryNow}>
        <Totals feed={feed} />
      </ConnectionBar>
      <OpenNotice feed={feed} />
      <FilterBar
        rows={rows}
        filter={filter.value}
        set={(next) => {
          filter.value = next;
        }}
      />
      <div class="live-panes">
        <div class="live-side">
          <ActorList rows={wanted} all={rows.length} nowMs={nowMs} chosen={choice.value} choose={choose} />
          <Connect openUrl={openUrl} requestToken={requestToken} />
        </div>
        <div class="live-split" ref={panes}>
          <Chosen
            {...{ row, chosen, counts, nowMs, onState }}
            events={mine}
            state={filter.value.state || null}
            last={mine.at(-1) ?? lastOf.get(choice.value ?? "")}
            leave={() => choose(null)}
          />
          <Splitter panes={panes} />
          <EventLog
            key={choice.value ?? ""}
            {...{ leftOut, choose, chosen }}
            events={logged}
            isFollowing={choice.value !== null}
            prompts={feed.hello.value?.prompts ?? false}
            clear={feed.clear}
          />
        </div>
      </div>
    </div>
  );
};
