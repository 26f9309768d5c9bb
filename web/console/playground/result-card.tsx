// A generation of the playground: its progress, then its files with price, time and what can be done with them.
import { RotateCcw } from "lucide";
import type { VNode } from "preact";
import type { GenerationDetail, GenerationDto } from "../../../src/console/generations-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import { usdText } from "../credits/amounts.ts";
import { waited } from "../format.ts";
import { CancelButton } from "../generations/cancel-button.tsx";
import { FileView } from "../generations/result-files.tsx";
import { Progress } from "./progress.tsx";

const Ended = ({ of }: { of: GenerationDto }): VNode => {
  if (of.status === "failed") return <p class="fault">{of.error?.message ?? words.playground.failed}</p>;
  const tookMs = (of.completedAtMs ?? of.createdAtMs) - of.createdAtMs;
  return <p class="result-price">{words.playground.doneIn(usdText(of.costCredits ?? 0), waited(tookMs))}</p>;
};

type Props = {
  of: GenerationDto | GenerationDetail;
  modelName: string;
  expectedS: number | null;
  submittedAtMs: number;
  onCancelled: (id: string) => void;
  again: () => void;
  /** Opens the n-th file in the lightbox. */
  open: (n: number) => void;
};

export const ResultCard = ({ of, modelName, expectedS, submittedAtMs, onCancelled, again, open }: Props): VNode => (
  <article class="result" data-id={of.id} data-status={of.status}>
    <header>
      <strong>{modelName}</strong>
      <span class="grows" />
      {of.completedAtMs === null ? (
        <CancelButton id={of.id} onCancelled={onCancelled} />
      ) : (
        <button
          type="button"
          class="button is-quiet is-icon"
          aria-label={words.playground.again}
          title={words.playground.again}
          onClick={again}
        >
          <Icon of={RotateCcw} />
        </button>
      )}
    </header>
    <div role="status">{of.completedAtMs === null ? <Progress {...{ of, expectedS, submittedAtMs }} /> : <Ended of={of} />}</div>
    <div class={`result-files${of.files.length > 1 ? " are-many" : ""}`}>
      {of.files.map((file, n) => (
        <FileView key={file.n} of={of} file={file} open={() => open(n)} />
      ))}
    </div>
  </article>
);
