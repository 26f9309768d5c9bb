// `/inspector`: live view of all actors, the selected statechart, its context and the event log.
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { ActorKind } from "../../src/inspector/dto.ts";
import { Connect, type RequestToken } from "./connect.tsx";
import { ConnectionBar } from "./connection-status.tsx";
import { LiveMemory } from "./context-panel.tsx";
import { createLiveFeed, eventsOf, type LiveFeed } from "./live-feed.ts";
import { FilterBar, isWanted, NO_FILTER } from "./live-filter.tsx";
import { ActorList } from "./live-list.tsx";
import { EventLog } from "./live-log.tsx";
import { Chosen } from "./selected-actor.tsx";

/** `liveUrl`: WebSocket of this page; `openUrl`: WebSocket of the open protocol. */
export type LiveProps = { liveUrl: string; openUrl: string; requestToken: RequestToken };

const Totals = ({ feed }: { feed: LiveFeed }): VNode | null => {
  const { totals } = feed.shown.value;
  if (totals === null) return null;
  const { queued, running, live, nodes, unlisted } = totals;
  const facts: [string, number][] = [
    ["queued", queued],
    ["running", running],
    ...(nodes === undefined ? [] : [["nodes", nodes] as [string, number]]),
    [nodes === undefined ? "actors in memory" : "actors in memory on this node", live],
    ...(unlisted > 0 ? [["not listed (the list is full)", unlisted] as [string, number]] : []),
  ];
  return (
    <ul class="live-totals" aria-label="Totals">
      {facts.map(([name, count]) => (
        <li key={name}>
          <strong>{count.toLocaleString("en")}</strong> {name}
        </li>
      ))}
    </ul>
  );
};

export const LiveView = ({ liveUrl, openUrl, requestToken }: LiveProps): VNode => {
  const feed = useMemo(() => createLiveFeed(liveUrl), [liveUrl]);
  useEffect(() => () => feed.close(), [feed]);
  const filter = useSignal(NO_FILTER);
  const choice = useSignal<string | null>(null);
  const { rows, events, counts, chosen, lastOf, nowMs, leftOut } = feed.shown.value;
  const mine = choice.value === null ? [] : eventsOf(feed.shown.value, choice.value);
  const isPaused = feed.isPaused.value;

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
      <ConnectionBar connection={feed.connection.value} isPaused={isPaused} pause={feed.pause} tryNow={feed.tryNow}>
        <Totals feed={feed} />
      </ConnectionBar>
      <FilterBar
        rows={rows}
        filter={filter.value}
        set={(next) => {
          filter.value = next;
        }}
      />
      <div class="live-panes">
        <ActorList rows={wanted} all={rows.length} nowMs={nowMs} chosen={choice.value} choose={choose} />
        <Chosen
          {...{ row, counts, nowMs, onState }}
          state={filter.value.state || null}
          last={mine.at(-1) ?? lastOf.get(choice.value ?? "")}
          leave={() => choose(null)}
        />
        <LiveMemory chosen={chosen} prompts={feed.hello.value?.prompts ?? false} />
        <EventLog events={logged} leftOut={leftOut} choose={choose} clear={feed.clear} />
      </div>
      <Connect openUrl={openUrl} requestToken={requestToken} />
    </div>
  );
};
