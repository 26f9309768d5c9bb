// Playground page: model and form on the left, results on the right, and the newest generations below.
import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import type { GenerationDetail, ModelDto, ModelsDto } from "../../../src/console/generations-dto.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { type Draft, readDraft, readRemembered, storeDraft, withRecent } from "./draft.ts";
import { valuesFrom } from "./form.ts";
import { HistoryStrip } from "./history-strip.tsx";
import { ModelChooser } from "./model-chooser.tsx";
import { inOrder } from "./model-facts.ts";
import { NoModel } from "./no-model.tsx";
import { PlaygroundForm } from "./playground-form.tsx";
import { Results } from "./results.tsx";
import { useRuns } from "./use-runs.ts";
import { modelsFor, startWith, UsedFileNotice, usedFileOf } from "./used-file.tsx";

/** The model that a first visit begins with: a picture from a prompt is the quickest result. */
const firstModel = (models: readonly ModelDto[]): ModelDto | undefined =>
  models.find(({ tasks }) => tasks.includes("text-to-image")) ?? models.find(({ kind }) => kind === "image") ?? models[0];

/**
 * The draft that the page begins with: the stored one, changed by the address. `?model=` names the model, `?from=` the generation
 * whose input fills the form, and `?use=` a stored file.
 */
const beginDraft = (query: URLSearchParams, models: readonly ModelDto[], from: GenerationDetail | undefined): Draft => {
  const stored = readDraft();
  const wanted = from?.model ?? query.get("model");
  const fitting = modelsFor(models, usedFileOf(query)) as readonly ModelDto[];
  const known = stored.models.filter((id) => fitting.some((model) => model.id === id));
  const ids = wanted === null ? known : [wanted, ...known.slice(1).filter((id) => id !== wanted)];
  const model = fitting.find(({ id }) => id === ids[0]) ?? (wanted === null ? firstModel(fitting) : undefined);
  const used = usedFileOf(query);
  const values = {
    ...stored.values,
    ...(from && model ? valuesFrom(model, from.input) : {}),
    ...(used && model ? startWith(model, used) : {}),
  };
  // A repeated or given model is not compared with those of an earlier visit.
  const others = wanted === null ? ids.slice(1) : [];
  return { ...stored, models: model ? [model.id, ...others] : ids.slice(0, 1), values };
};

type LoadedProps = { known: ModelsDto; query: URLSearchParams; from: GenerationDetail | undefined };

const Loaded = ({ known, query, from }: LoadedProps): VNode => {
  const used = usedFileOf(query);
  const models = inOrder(modelsFor(known.models, used) as readonly ModelDto[], known.mode);
  const [draft, setDraft] = useState(() => beginDraft(query, inOrder(known.models, known.mode), from));
  const [remembered, remember] = useState(readRemembered);
  /** Position of the model that is being chosen; null while the chooser is closed. */
  const [choosing, setChoosing] = useState<number | null>(null);
  const { runs, start, read } = useRuns();
  const change = (next: Partial<Draft>) => setDraft((now) => ({ ...now, ...next }));
  // In the commit that shows a choice: what a user sees survives a reload at once.
  useLayoutEffect(() => storeDraft(draft), [draft]);
  const chosen = draft.models.flatMap((id) => models.find((model) => model.id === id) ?? []);
  const choose = (id: string) => {
    const ids = draft.models.filter((one) => one !== id);
    ids.splice(Math.min(choosing ?? 0, ids.length), choosing !== null && choosing < draft.models.length ? 1 : 0, id);
    change({ models: ids });
    setChoosing(null);
  };
  return (
    <div class="playground">
      <div class="playground-form">
        {used && <UsedFileNotice of={used} isTaken={models.length > 0} />}
        <PlaygroundForm
          models={chosen}
          missing={chosen.length === 0 ? (draft.models[0] ?? null) : null}
          draft={draft}
          change={change}
          used={used}
          isTest={known.mode === "test"}
          chooseModel={setChoosing}
          start={async (orders) => {
            for (const { model } of orders) remember(withRecent(remembered, model));
            return start(orders);
          }}
        />
      </div>
      <section class="playground-results" aria-label={words.playground.results}>
        <Results runs={runs} models={known.models} onCancelled={read} again={(order) => void start([order])} />
        <HistoryStrip />
      </section>
      {choosing !== null && (
        <ModelChooser
          title={choosing < draft.models.length || choosing === 0 ? words.model.choose : words.model.chooseFurther}
          models={models}
          chosen={draft.models}
          remembered={remembered}
          remember={remember}
          choose={choose}
          close={() => setChoosing(null)}
        />
      )}
    </div>
  );
};

export const PlaygroundPage = (): VNode => {
  const search = useSearch();
  const query = new URLSearchParams(search);
  const from = query.get("from");
  const { value: known, fault } = useQuery<ModelsDto>("/console/api/models");
  const used = useQuery<GenerationDetail>(from === null ? null : `/console/api/generations/${encodeURIComponent(from)}`);
  if (fault !== null || used.fault !== null)
    return (
      <p class="fault" role="alert">
        {fault ?? used.fault}
      </p>
    );
  if (!known || (from !== null && !used.value)) return <Skeleton lines={8} label={words.playground.loading} />;
  if (known.models.length === 0) return <NoModel />;
  return <Loaded key={search} known={known} query={query} from={used.value} />;
};
