// Result files of a generation, with what can be done with each: open in full size, download, use as input.
import { Download, ImageUpscale, Info, Maximize2 } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileDto, GenerationDetail, GenerationDto } from "../../../src/console/generations-dto.ts";
import { me } from "../../components/api.ts";
import { Icon } from "../../components/icon.tsx";
import { Lightbox, type Shown } from "../../components/lightbox.tsx";
import { words } from "../../words/console-words.ts";
import { kindOfMime, mediaOf, useAsInputPath } from "../files/stored-media.tsx";
import { FilePreview, titleOf } from "./files.tsx";

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
    label: titleOf(of),
    inputUrl: inputUrlOf(of),
    actions: <FileLinks of={of} file={file} />,
  }));

const FileLinks = ({ of, file }: { of: GenerationDto; file: FileDto }): VNode => {
  const kind = kindOfMime(file.mime);
  const who = me.value?.signedIn;
  // A result of another account can be used by that account alone.
  const isOwn = who?.role !== "viewer" && (of.accountId === null || of.accountId === who?.accountId);
  return (
    <>
      {kind !== undefined && isOwn && (
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

export const FileView = ({ of, file, open }: { of: GenerationDto; file: FileDto; open: () => void }): VNode => {
  const isPicture = file.mime.startsWith("image/");
  const label = words.playground.openFull(titleOf(of));
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

/** All files of a generation, with a lightbox of their own. */
export const ResultFiles = ({ of }: { of: GenerationDetail }): VNode => {
  const [at, setAt] = useState<number | null>(null);
  if (of.areFilesGone) return <p class="muted">{words.generation.filesGone}</p>;
  return (
    <>
      <div class={`result-files${of.files.length > 1 ? " are-many" : ""}`}>
        {of.files.map((file, n) => (
          <FileView key={file.n} of={of} file={file} open={() => setAt(n)} />
        ))}
      </div>
      {at !== null && <Lightbox files={shownOf(of)} at={at} go={setAt} close={() => setAt(null)} />}
    </>
  );
};
