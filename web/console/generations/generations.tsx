// Generations page: gallery or list, filtered by the URL and updated by events.

import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type {
  GenerationDetail,
  GenerationDto,
  ModelsDto,
  GenerationsPage as Page,
} from "../../../src/console/generations-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { usdText } from "../credits/amounts.ts";
import { isListening, useEvents } from "./event-stream.ts";
import { FilePreview } from "./files.tsx";
import { FilterBar, type Filters, queryOf, useFilters } from "./filters.tsx";
import { type Rows, withPage, withPending, withRead, withUpdates } from "./live-rows.ts";
import { StatusBadge } from "./status-badge.tsx";

/** Events within this period are handled by one read. */
const REST_MS = 300;
const NO_ROWS: Rows = { shown: [], held: [] };

const costOf = ({ status, costCredits, reservedCredits }: GenerationDto): string =>
  status === "queued" || status === "running" ? `${usdText(reservedCredits)} held` : usdText(costCredits ?? 0);

const titleOf = ({ prompt, model }: GenerationDto): string => prompt || model;

const Tile = ({ of }: { of: GenerationDto }): VNode => {
  const [file] = of.files;
  return (
    <li class="tile card" data-id={of.id} data-status={of.status}>
      <div class="tile-picture">
        {file ? (
          <FilePreview of={of} file={file} small />
        ) : (
          <span class="muted">{of.areFilesGone ? "Files deleted" : of.kind}</span>
        )}
      </div>
      <h2>
        <a href={`/console/generations/${of.id}`}>{titleOf(of)}</a>
      </h2>
      <p>
        <StatusBadge status={of.status} /> {of.files.length > 1 && <span class="badge">{of.files.length} files</span>}
      </p>
      <p class="muted">
        {of.model}, {costOf(of)}, {timeText(of.createdAtMs)}, key <span class="of-key">{of.keyName}</span>
      </p>
    </li>
  );
};

const List = ({ rows }: { rows: readonly GenerationDto[] }): VNode => (
  <div class="cards">
    <table>
      <thead>
        <tr>
          {["Generation", "Status", "Model", "Size", "Cost", "Key", "Created"].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((of) => (
          <tr key={of.id} data-id={of.id} data-status={of.status}>
            <td data-head="Generation" class="prompt">
              <a href={`/console/generations/${of.id}`}>{titleOf(of)}</a>
            </td>
            <td data-head="Status">
              <StatusBadge status={of.status} />
            </td>
            <td data-head="Model">{of.model}</td>
            <td data-head="Size">
              {of.width !== null && `${of.width} × ${of.height}`}
              {of.durationMs !== null && ` ${(of.durationMs / 1000).toFixed(1)} s`}
            </td>
            <td data-head="Cost">{costOf(of)}</td>
            <td data-head="Key" class="of-key">
              {of.keyName}
            </td>
            <td data-head="Created">{timeText(of.createdAtMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** Rows for the filters, and their updates. `isHeld` is true while the user points at a row. */
const useRows = (filters: Filters, isHeld: () => boolean) => {
  const [rows, setRows] = useState<Rows>(NO_ROWS);
  const [next, setNext] = useState<string | null>(null);
  const [looked, setLooked] = useState(0);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(true);
  const requested = queryOf(filters, null);
  const newest = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const read = useCallback(async () => {
    newest.current += 1;
    const mine = newest.current;
    setBusy(true);
    setRows(NO_ROWS);
    try {
      const page = await call<Page>("GET", `/console/api/generations${requested}`);
      if (mine !== newest.current) return;
      setRows({ shown: page.generations, held: [] });
      setNext(page.next);
      setLooked(page.looked);
      setFault(null);
    } catch (thrown) {
      if (mine !== newest.current) return;
      setFault(errorText(thrown));
    }
    setBusy(false);
  }, [requested]);
  const isReported = isListening.value;
  useEffect(() => {
    if (!isReported) return;
    void read();
    return () => {
      newest.current += 1;
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [read, isReported]);

  const loadMore = async () => {
    const mine = newest.current;
    setBusy(true);
    try {
      const page = await call<Page>("GET", `/console/api/generations${queryOf(filters, next)}`);
      if (mine !== newest.current) return;
      setRows((all) => ({ ...all, shown: [...all.shown, ...page.generations] }));
      setNext(page.next);
      setLooked((before) => before + page.looked);
    } catch (thrown) {
      setFault(errorText(thrown));
    }
    setBusy(false);
  };
  /** Reloads the newest page shortly after the first of several events. */
  const readNewest = () => {
    const mine = newest.current;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      call<Page>("GET", `/console/api/generations${requested}`).then(
        (page) => {
          if (mine === newest.current) setRows((all) => withPage(all, page.generations, isHeld()));
        },
        () => undefined,
      );
    }, REST_MS);
  };
  const shown = useRef(rows);
  shown.current = rows;
  useEvents(filters.account || null, {
    generation: (news) => {
      const isKnown = [...shown.current.shown, ...shown.current.held].some(({ id }) => id === news.id);
      setRows((all) => withUpdates(all, news));
      if (!isKnown) readNewest();
      else if (news.completedAtMs !== null)
        call<GenerationDetail>("GET", `/console/api/generations/${news.id}`).then(
          (one) => setRows((all) => withRead(all, one)),
          () => undefined,
        );
    },
    again: readNewest,
  });
  return { rows, next, looked, fault, isBusy, loadMore, showHeld: () => setRows(withPending) };
};

export const GenerationsPage = (): VNode => {
  const [filters, set] = useFilters();
  const { value: known } = useQuery<ModelsDto>("/console/api/models");
  const area = useRef<HTMLDivElement>(null);
  // Rows do not move while the user points at one or has focused one.
  const isHeld = () => area.current?.matches(":hover, :focus-within") === true;
  const { rows, next, looked, fault, isBusy, loadMore, showHeld } = useRows(filters, isHeld);
  const isFiltered = (["status", "kind", "model", "from", "to", "key"] as const).some((name) => filters[name] !== "");
  const isEmpty = rows.shown.length === 0 && !isBusy && fault === null;
  return (
    <div class="generations">
      <FilterBar filters={filters} set={set} models={known?.models ?? []} />
      {fault !== null && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <div role="status">
        {rows.held.length > 0 && (
          <button type="button" class="held" onClick={showHeld}>
            Show {rows.held.length} new
          </button>
        )}
      </div>
      <div ref={area} aria-busy={isBusy}>
        {filters.view === "list" && rows.shown.length > 0 && <List rows={rows.shown} />}
        {filters.view !== "list" && rows.shown.length > 0 && (
          <ul class="gallery">
            {rows.shown.map((of) => (
              <Tile key={of.id} of={of} />
            ))}
          </ul>
        )}
      </div>
      {isEmpty && next === null && (
        <p class="empty">
          {isFiltered ? (
            "No generation matches these filters."
          ) : (
            <>
              No generations yet. <a href="/console/playground">Create one in the playground</a>, or submit one with an{" "}
              <a href="/console/keys">API key</a>.
            </>
          )}
        </p>
      )}
      {isBusy && rows.shown.length === 0 && <p>Loading the generations…</p>}
      {next !== null && (
        <p class="actions">
          <button type="button" disabled={isBusy} onClick={() => void loadMore()}>
            {isFiltered ? "Search further" : "Show more"}
          </button>
          {isFiltered && <span class="muted">Searched {looked.toLocaleString("en-US")} so far.</span>}
        </p>
      )}
    </div>
  );
};
