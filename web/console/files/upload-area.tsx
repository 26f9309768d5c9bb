// Area that takes files by drop and by choice, and the list of running uploads.
import { Upload } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import { bytesText } from "../generations/files.tsx";
import type { Sending, Uploads } from "./use-uploads.ts";

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;

/** A file that is dropped beside the area must not replace the page. */
const useDropGuard = (): void => {
  useLayoutEffect(() => {
    const prevent = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    for (const name of ["dragover", "drop"] as const) addEventListener(name, prevent);
    return () => {
      for (const name of ["dragover", "drop"] as const) removeEventListener(name, prevent);
    };
  }, []);
};

/** A group that takes dropped files. @param label its name for screen readers */
export const DropArea = (of: {
  label: string;
  class: string;
  take: (files: Iterable<File>) => void;
  children: ComponentChildren;
}): VNode => {
  // Entering a child and leaving its parent come in this order, so the area counts both.
  const [depth, setDepth] = useState(0);
  useDropGuard();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend in this place.
    <div
      role="group"
      aria-label={of.label}
      class={`${of.class}${depth > 0 ? " is-over" : ""}`}
      onDragEnter={(event) => hasFiles(event) && setDepth((now) => now + 1)}
      onDragLeave={(event) => hasFiles(event) && setDepth((now) => Math.max(0, now - 1))}
      onDrop={(event) => {
        setDepth(0);
        if (!hasFiles(event)) return;
        event.preventDefault();
        of.take(event.dataTransfer?.files ?? []);
      }}
    >
      {of.children}
    </div>
  );
};

/** Takes files that are dropped anywhere on the page. @param take null: none are taken @returns whether files are over the page */
export const usePageDrop = (take: ((files: Iterable<File>) => void) | null): boolean => {
  const [depth, setDepth] = useState(0);
  const taker = useRef(take);
  taker.current = take;
  useDropGuard();
  useLayoutEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const count = (by: number) => (event: DragEvent) => hasFiles(event) && setDepth((now) => Math.max(0, now + by));
    window.addEventListener("dragenter", count(1), { signal });
    window.addEventListener("dragleave", count(-1), { signal });
    window.addEventListener(
      "drop",
      (event: DragEvent) => {
        setDepth(0);
        if (hasFiles(event)) taker.current?.(event.dataTransfer?.files ?? []);
      },
      { signal },
    );
    return () => ending.abort();
  }, []);
  return depth > 0 && take !== null;
};

/** Button that opens the file chooser of the browser. @param label what the file is for, for screen readers @param says absent: an icon */
export const ChooseFiles = (of: {
  says?: string;
  label: string;
  accept: string;
  isMultiple: boolean;
  isMain?: boolean;
  isDisabled?: boolean;
  /** Id of the reason why it is disabled. */
  about?: string | undefined;
  take: (files: Iterable<File>) => void;
}): VNode => (
  <label
    class={`button choose${of.says === undefined ? " is-icon" : ""}${of.isMain ? " is-main" : ""}${of.isDisabled ? " is-disabled" : ""}`}
    title={of.says === undefined ? of.label : undefined}
  >
    <input
      class="unseen"
      type="file"
      aria-label={of.label}
      aria-describedby={of.about}
      disabled={of.isDisabled === true}
      accept={of.accept}
      multiple={of.isMultiple}
      onChange={({ currentTarget }) => {
        of.take([...(currentTarget.files ?? [])]);
        // The same file can then be chosen again.
        currentTarget.value = "";
      }}
    />
    {(of.says === undefined || of.isMain) && <Icon of={Upload} />}
    {of.says}
  </label>
);

const Row = ({ of, drop }: { of: Sending; drop: () => void }): VNode => {
  const { name, bytes, part, fault } = of;
  const percent = Math.floor(part * 100);
  return (
    <li>
      <span class="sending-name">
        {name} <span class="muted">{bytesText(bytes)}</span>
      </span>
      {fault === null ? (
        <>
          <progress max={100} value={percent} aria-label={words.files.uploadOf(name)} />
          <span class="muted">{part === 1 ? words.files.checking : words.files.percent(percent)}</span>
        </>
      ) : (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
      <button
        type="button"
        class="button is-small"
        aria-label={fault === null ? words.files.cancelUpload(name) : words.files.dismissFault(name)}
        onClick={drop}
      >
        {fault === null ? words.cancel : words.files.dismiss}
      </button>
    </li>
  );
};

export const SendingList = ({ of }: { of: Uploads }): VNode | null =>
  of.sending.length === 0 ? null : (
    <ul class="sending">
      {of.sending.map((one) => (
        <Row key={one.key} of={one} drop={() => of.drop(one.key)} />
      ))}
    </ul>
  );
