// The results of the playground, newest first: the generations of one submission side by side, and a lightbox over all files.
import { Sparkles } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ModelDto } from "../../../src/console/generations-dto.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Lightbox } from "../../components/lightbox.tsx";
import { words } from "../../words/console-words.ts";
import { shownOf } from "../generations/result-files.tsx";
import { ResultCard } from "./result-card.tsx";
import type { Order, Run, RunItem } from "./use-runs.ts";

type Props = {
  runs: readonly Run[];
  models: readonly ModelDto[];
  onCancelled: (id: string) => void;
  again: (order: Order) => void;
};

/** A submission that has no generation: it is under way, or it was refused. */
const Pending = ({ item, name }: { item: RunItem; name: string }): VNode => (
  <article class="result">
    <header>
      <strong>{name}</strong>
    </header>
    <p role="status" class={item.fault ? "fault" : "muted"}>
      {item.fault?.text ?? words.playground.submitting}
    </p>
  </article>
);

export const Results = ({ runs, models, onCancelled, again }: Props): VNode => {
  const [at, setAt] = useState<number | null>(null);
  const generations = runs.flatMap(({ items }) => items.flatMap(({ generation }) => generation ?? []));
  const files = generations.map(shownOf);
  /** Position of the first file of a generation among all files. */
  const firstOf = (id: string): number =>
    files
      .slice(
        0,
        generations.findIndex((one) => one.id === id),
      )
      .reduce((n, own) => n + own.length, 0);
  const nameOf = (id: string): string => models.find((model) => model.id === id)?.name ?? id;
  if (runs.length === 0) return <EmptyState icon={Sparkles} title={words.playground.empty} about={words.playground.emptyAbout} />;
  return (
    <>
      {runs.map(({ key, items }) => (
        <div key={key} class={`run${items.length > 1 ? " is-compared" : ""}`}>
          {items.map((item) =>
            item.generation === null ? (
              <Pending key={item.key} item={item} name={nameOf(item.order.model)} />
            ) : (
              <ResultCard
                key={item.key}
                of={item.generation}
                modelName={nameOf(item.order.model)}
                expectedS={item.order.expectedS}
                submittedAtMs={item.submittedAtMs}
                onCancelled={onCancelled}
                again={() => again(item.order)}
                open={(n) => setAt(firstOf(item.generation?.id ?? "") + n)}
              />
            ),
          )}
        </div>
      ))}
      {at !== null && <Lightbox files={files.flat()} at={at} go={setAt} close={() => setAt(null)} />}
    </>
  );
};
