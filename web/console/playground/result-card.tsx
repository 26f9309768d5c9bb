// A generation of the playground: its progress, then its files with price, time and what can be done with them.
import { Download, ImageUpscale, Info, Maximize2, RotateCcw } from "lucide";
import type { VNode } from "preact";
import type { FileDto, GenerationDetail, GenerationDto } from "../../../src/console/generations-dto.ts";
import { Icon } from "../../components/icon.tsx";
import type { Shown } from "../../components/lightbox.tsx";
import { words } from "../../words/words.ts";
import { usdText } from "../credits/amounts.ts";
import { kindOfMime, mediaOf, useAsInputPath } from "../files/stored-media.tsx";
import { waited } from "../format.ts";
import { CancelButton } from "../generations/cancel-button.tsx";
import { FilePreview } from "../generations/files.tsx";
import { Progress } from "./progress.tsx";

/** The picture that a generation was made from, if it was made from one. */
const inputUrlOf = (of: GenerationDto | GenerationDetail): string | undefined => {
  const link = "input" in of ? of.input.image_url : undefined;
  if (typeof link !== "string") return undefined;
  return mediaOf(link, "image")?.contentUrl;
};

/** What the lightbox shows of a generation. */
export const shownOf = (of: GenerationDto | GenerationDetail): Shown[] =>
  of.files.map((file) => ({
    url: file.url,
    kind: kindOfMime(file.mime) ?? "image",
    label: of.prompt ?? of.model,
    inputUrl: inputUrlOf(of),
    actions: <FileLinks of={of} file={file} />,
  }));

const FileLinks = ({ of, file }: { of: GenerationDto; file: FileDto }): VNode => {
  const kind = kindOfMime(file.mime);
  return (
    <>
      {kind !== undefined && (
        <a
          class="button is-quiet is-icon"
          href={useAsInputPath(`${of.id}/${file.n}`, kind)}
          aria-label={words.playground.useAsInput}
          title={words.playground.useAsInput}
        >
          <Icon of={ImageUpscale} />
        </a>
      )}
      <a
        class="button is-quiet is-icon"
        href={`/console/generations/${of.id}`}
        aria-label={words.playground.details}
        title={words.playground.details}
      >
        <Icon of={Info} />
      </a>
    </>
  );
};

const FileView = ({ of, file, open }: { of: GenerationDto; file: FileDto; open: () => void }): VNode => {
  const isPicture = file.mime.startsWith("image/");
  const label = words.playground.openFull(of.prompt ?? of.model);
  return (
    <figure class="result-file">
      {isPicture ? (
        <button type="button" class="result-picture" aria-label={label} onClick={open}>
          <FilePreview of={of} file={file} small />
        </button>
      ) : (
        <FilePreview of={of} file={file} />
      )}
      <figcaption>
        <a
          class="button is-quiet is-icon"
          href={file.url}
          download
          aria-label={words.actions.download}
          title={words.actions.download}
        >
          <Icon of={Download} />
        </a>
        {!isPicture && (
          <button type="button" class="button is-quiet is-icon" aria-label={label} onClick={open}>
            <Icon of={Maximize2} />
          </button>
        )}
        <FileLinks of={of} file={file} />
      </figcaption>
    </figure>
  );
};

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
