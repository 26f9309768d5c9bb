// Generations page: gallery or list, filtered by the URL and updated by events.
import { AudioLines, Clapperboard, Image, Images } from "lucide";
import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GenerationDto, ModelsDto } from "../../../src/console/generations-dto.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { usdText } from "../credits/amounts.ts";
import { FirstStepsCard } from "../first-steps.tsx";
import { BulkActions } from "./bulk-actions.tsx";
import { FilePreview, titleOf } from "./files.tsx";
import { FilterBar, isFiltered, useFilters } from "./filters.tsx";
import { LazyClip } from "./lazy-clip.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { useRows } from "./use-rows.ts";

type Choose = (id: string, isOn: boolean) => void;
type RowProps = { of: GenerationDto; isChosen: boolean; choose: Choose };
type Choice = { isChosen: (id: string) => boolean; choose: Choose };

const costOf = ({ status, costCredits, reservedCredits }: GenerationDto): string =>
  status === "queued" || status === "running" ? words.generations.held(usdText(reservedCredits)) : usdText(costCredits ?? 0);

const ICONS = { image: Image, video: Clapperboard, audio: AudioLines };

const ChooseBox = ({ of, isChosen, choose }: RowProps): VNode => (
  <input
    type="checkbox"
    class="choose-row"
    aria-label={words.generations.choose(titleOf(of))}
    checked={isChosen}
    onChange={({ currentTarget }) => choose(of.id, currentTarget.checked)}
  />
);

/** The gallery loads what is near the visible part: pictures and first frames of clips. A sound is loaded on its own page. */
const Picture = ({ of }: { of: GenerationDto }): VNode => {
  const [file] = of.files;
  if (file?.thumbUrl) return <FilePreview of={of} file={file} small />;
  if (file && of.kind === "video") return <LazyClip url={file.url} label={titleOf(of)} />;
  if (of.areFilesGone) return <span class="muted">{words.generations.filesDeleted}</span>;
  return <Icon of={ICONS[of.kind ?? "image"]} size={32} />;
};

const TileOf = ({ of, isChosen, choose }: RowProps): VNode => (
  <li class={isChosen ? "tile is-chosen" : "tile"} data-id={of.id} data-status={of.status}>
    <ChooseBox {...{ of, isChosen, choose }} />
    <a class="tile-link" href={`/console/generations/${of.id}`}>
      <div class="tile-picture">
        <Picture of={of} />
      </div>
      <h2>{titleOf(of)}</h2>
    </a>
    <p class="tile-facts">
      <StatusBadge status={of.status} />
      {of.files.length > 1 && <span class="badge">{words.generations.files(of.files.length)}</span>}
      <span>{costOf(of)}</span>
    </p>
    <p class="tile-facts muted">
      <span class="tile-model">{of.model}</span>
      <Time atMs={of.createdAtMs} />
    </p>
  </li>
);

const sizeOf = ({ width, height, durationMs }: GenerationDto): string =>
  [width === null ? "" : `${width} × ${height}`, durationMs === null ? "" : `${(durationMs / 1000).toFixed(1)} s`]
    .filter(Boolean)
    .join(", ");

const RowOf = ({ of, isChosen, choose }: RowProps): VNode => {
  const { columns } = words.generations;
  return (
    <tr data-id={of.id} data-status={of.status}>
      <td>
        <ChooseBox {...{ of, isChosen, choose }} />
      </td>
      <td data-head={columns.generation} class="prompt">
        <a href={`/console/generations/${of.id}`}>{titleOf(of)}</a>
      </td>
      <td data-head={columns.status}>
        <StatusBadge status={of.status} />
      </td>
      <td data-head={columns.model} class="of-model">
        {of.model}
      </td>
      <td data-head={columns.size} class="size">
        {sizeOf(of)}
      </td>
      <td data-head={columns.cost} class="number">
        {costOf(of)}
      </td>
      <td data-head={columns.key} class="of-key">
        {of.keyName}
      </td>
      <td data-head={columns.created}>
        <Time atMs={of.createdAtMs} />
      </td>
    </tr>
  );
};

/** Hundreds of rows stay as they are when one of them changes. */
const Tile = ({ of, isChosen, choose }: RowProps): VNode =>
  useMemo(() => <TileOf {...{ of, isChosen, choose }} />, [of, isChosen, choose]);
const Row = ({ of, isChosen, choose }: RowProps): VNode =>
  useMemo(() => <RowOf {...{ of, isChosen, choose }} />, [of, isChosen, choose]);

const List = ({ rows, isChosen, choose }: { rows: readonly GenerationDto[] } & Choice): VNode => (
  <div class="cards">
    <table class="generation-list paneled">
      <thead>
        <tr>
          {Object.entries(words.generations.columns).map(([name, head]) => (
            <th key={name} scope="col" class={name === "cost" ? "number" : undefined}>
              {name === "choose" ? <span class="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((of) => (
          <Row key={of.id} of={of} isChosen={isChosen(of.id)} choose={choose} />
        ))}
      </tbody>
    </table>
  </div>
);

const Nothing = ({ isLimited }: { isLimited: boolean }): VNode =>
  isLimited ? (
    <p class="empty">{words.generations.noMatch}</p>
  ) : (
    <EmptyState icon={Images} title={words.generations.none} about={words.generations.noneAbout}>
      <a class="button is-main" href="/console/playground">
        {words.generations.toPlayground}
      </a>
    </EmptyState>
  );

const useChoice = (shown: readonly GenerationDto[]) => {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const choice: Choice = {
    isChosen: (id) => ids.has(id),
    choose: useCallback((id, isOn) => setIds((all) => new Set(isOn ? [...all, id] : [...all].filter((one) => one !== id))), []),
  };
  return { choice, chosen: shown.filter(({ id }) => ids.has(id)), clear: () => setIds(new Set()) };
};

export const GenerationsPage = (): VNode => {
  const [filters, set] = useFilters();
  const { value: known } = useQuery<ModelsDto>("/console/api/models");
  const area = useRef<HTMLDivElement>(null);
  // Rows do not move while the user points at one or has focused one.
  const isHeld = () => area.current?.matches(":hover, :focus-within") === true;
  const { rows, next, looked, fault, isBusy, loadMore, showHeld, remove } = useRows(filters, isHeld);
  const { choice, chosen, clear } = useChoice(rows.shown);
  const isLimited = isFiltered(filters);
  const { generations } = words;
  // A choice belongs to the rows that were shown.
  useEffect(clear, [filters.q, filters.status, filters.kind, filters.model, filters.key, filters.from, filters.to]);
  return (
    <div class="generations">
      <FirstStepsCard />
      <FilterBar filters={filters} set={set} models={known?.models ?? []} />
      {fault !== null && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <div class="list-state" role="status">
        {rows.shown.length > 0 && <span>{generations.shown(rows.shown.length, next !== null)}</span>}
        {isLimited && next !== null && <span>{generations.searched(looked)}</span>}
        {rows.held.length > 0 && (
          <button type="button" class="held" onClick={showHeld}>
            {generations.showNew(rows.held.length)}
          </button>
        )}
      </div>
      <div ref={area} aria-busy={isBusy && rows.shown.length > 0}>
        {filters.view === "list" && rows.shown.length > 0 && <List rows={rows.shown} {...choice} />}
        {filters.view !== "list" && rows.shown.length > 0 && (
          <ul class="gallery">
            {rows.shown.map((of) => (
              <Tile key={of.id} of={of} isChosen={choice.isChosen(of.id)} choose={choice.choose} />
            ))}
          </ul>
        )}
      </div>
      {rows.shown.length === 0 && !isBusy && fault === null && next === null && <Nothing isLimited={isLimited} />}
      {isBusy && rows.shown.length === 0 && <Skeleton lines={8} label={generations.loading} />}
      {next !== null && (
        <p class="actions">
          <button type="button" disabled={isBusy} onClick={() => void loadMore()}>
            {isLimited ? generations.searchFurther : generations.showMore}
          </button>
        </p>
      )}
      {chosen.length > 0 && (
        <BulkActions
          chosen={chosen}
          clear={clear}
          onDeleted={(ids) => {
            clear();
            remove(ids);
          }}
        />
      )}
    </div>
  );
};
