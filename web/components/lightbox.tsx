// Lightbox: results in full size, with keys, download and a comparison with the input.
import { ChevronLeft, ChevronRight, Columns2, Download, Link, X } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { words } from "../words/console-words.ts";
import { Icon } from "./icon.tsx";
import { showToast } from "./toast.tsx";

/** A file to show. `url`: of the whole file; `inputUrl`: of the picture that it was made from, if it has one. */
export type Shown = {
  url: string;
  kind: "image" | "video" | "audio";
  label: string;
  inputUrl?: string | undefined;
  /** Buttons and links about the file, for example "Use as input". */
  actions?: ComponentChildren;
};
type Props = { files: readonly Shown[]; at: number; go: (at: number) => void; close: () => void };

/** The input and the result over each other, with a divider that the pointer or the arrow keys move. */
const BeforeAfter = ({ before, after, label }: { before: string; after: string; label: string }): VNode => {
  const [percent, setPercent] = useState(50);
  const place = useRef<HTMLDivElement>(null);
  // Set by script, because the policy of the pages allows no style attributes.
  useLayoutEffect(() => place.current?.style.setProperty("--divider", `${percent}%`), [percent]);
  return (
    <div ref={place} class="before-after">
      <img src={after} alt={`${words.lightbox.after}: ${label}`} />
      <img class="before" src={before} alt={`${words.lightbox.before}: ${label}`} />
      <input
        type="range"
        min={0}
        max={100}
        value={percent}
        aria-label={words.lightbox.divider}
        onInput={({ currentTarget }) => setPercent(currentTarget.valueAsNumber)}
      />
    </div>
  );
};

const Media = ({ url, kind, label }: Shown): VNode =>
  kind === "image" ? (
    <img src={url} alt={label} />
  ) : kind === "video" ? (
    // biome-ignore lint/a11y/useMediaCaption: generated clips have no captions.
    <video key={url} src={url} controls autoplay loop aria-label={label} />
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: generated sounds have no captions.
    <audio key={url} src={url} controls autoplay aria-label={label} />
  );

const copyLink = async (url: string): Promise<void> => {
  await navigator.clipboard.writeText(new URL(url, location.href).href);
  showToast(words.lightbox.linkCopied);
};

const IconButton = (of: { label: string; icon: VNode; onClick: () => void; isPressed?: boolean }): VNode => (
  <button
    type="button"
    class="button is-quiet is-icon"
    aria-label={of.label}
    title={of.label}
    aria-pressed={of.isPressed}
    onClick={of.onClick}
  >
    {of.icon}
  </button>
);

const Bar = ({
  shown,
  isCompared,
  compare,
  close,
}: {
  shown: Shown;
  isCompared: boolean;
  compare: () => void;
  close: () => void;
}) => (
  <div class="lightbox-bar">
    <p>{shown.label}</p>
    {shown.inputUrl !== undefined && shown.kind === "image" && (
      <IconButton label={words.lightbox.compare} icon={<Icon of={Columns2} />} isPressed={isCompared} onClick={compare} />
    )}
    {shown.actions}
    <IconButton label={words.lightbox.copyLink} icon={<Icon of={Link} />} onClick={() => void copyLink(shown.url)} />
    <a
      class="button is-quiet is-icon"
      href={shown.url}
      download
      aria-label={words.actions.download}
      title={words.actions.download}
      data-download
    >
      <Icon of={Download} />
    </a>
    <IconButton label={words.actions.close} icon={<Icon of={X} />} onClick={close} />
  </div>
);

const useDialog = () => {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return dialog;
};

/** Arrow keys browse, D downloads, Escape closes. The focus stays inside and then returns to the previous element. */
export const Lightbox = ({ files, at, go, close }: Props): VNode | null => {
  const dialog = useDialog();
  const [isCompared, setCompared] = useState(false);
  useEffect(() => setCompared(false), [at]);
  const shown = files[at];
  if (!shown) return null;
  const step = (by: number) => go((at + by + files.length) % files.length);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement) return;
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else if (event.key.toLowerCase() === "d" && !event.ctrlKey && !event.metaKey)
      dialog.current?.querySelector<HTMLAnchorElement>("a[data-download]")?.click();
  };
  const isMany = files.length > 1;
  return (
    <dialog
      ref={dialog}
      class="lightbox"
      aria-label={words.lightbox.label}
      onKeyDown={onKeyDown}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <Bar shown={shown} isCompared={isCompared} compare={() => setCompared(!isCompared)} close={close} />
      <div class="lightbox-stage">
        {isMany && (
          <IconButton label={words.lightbox.previous} icon={<Icon of={ChevronLeft} size={24} />} onClick={() => step(-1)} />
        )}
        {isCompared && shown.inputUrl !== undefined ? (
          <BeforeAfter before={shown.inputUrl} after={shown.url} label={shown.label} />
        ) : (
          <Media {...shown} />
        )}
        {isMany && <IconButton label={words.lightbox.next} icon={<Icon of={ChevronRight} size={24} />} onClick={() => step(1)} />}
      </div>
      <p class="lightbox-foot">
        {isMany && <span>{words.lightbox.position(at + 1, files.length)}</span>}
        <span>{words.lightbox.keys}</span>
      </p>
    </dialog>
  );
};
