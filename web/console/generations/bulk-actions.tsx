// What can be done with several chosen generations: download their files, or delete them.
import { Download, Trash2, X } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ErasedGeneration, GenerationDto } from "../../../src/console/generations-dto.ts";
import { call, errorText, me } from "../../components/api.ts";
import { Icon } from "../../components/icon.tsx";
import { Modal } from "../../components/modal.tsx";
import { showToast } from "../../components/toast.tsx";
import { words } from "../../words/console-words.ts";
import { DialogForm } from "../dialog-form.tsx";

/** A browser starts only some downloads at once. */
const BETWEEN_MS = 250;

const download = async (chosen: readonly GenerationDto[]): Promise<void> => {
  for (const { url } of chosen.flatMap(({ files }) => files)) {
    const link = document.createElement("a");
    Object.assign(link, { href: url, download: "" });
    document.body.append(link);
    link.click();
    link.remove();
    await new Promise((next) => setTimeout(next, BETWEEN_MS));
  }
};

/** Deletes one after the other. @returns the deleted ids, and the first error */
const erase = async (chosen: readonly GenerationDto[]): Promise<{ ids: Set<string>; fault: string | null }> => {
  const ids = new Set<string>();
  let fault: string | null = null;
  for (const { id } of chosen) {
    try {
      await call<ErasedGeneration>("DELETE", `/console/api/generations/${id}`);
      ids.add(id);
    } catch (thrown) {
      fault ??= errorText(thrown);
    }
  }
  return { ids, fault };
};

type Props = {
  chosen: readonly GenerationDto[];
  clear: () => void;
  /** Called with the deleted ids. */
  onDeleted: (ids: ReadonlySet<string>) => void;
};

export const BulkActions = ({ chosen, clear, onDeleted }: Props): VNode => {
  const [isAsked, ask] = useState(false);
  const { generations } = words;
  const ended = chosen.filter(({ completedAtMs }) => completedAtMs !== null);
  const files = chosen.reduce((n, one) => n + one.files.length, 0);
  const mayDelete = me.value?.signedIn?.role !== "viewer";
  const send = async () => {
    const { ids, fault } = await erase(ended);
    ask(false);
    onDeleted(ids);
    if (ids.size > 0) showToast(generations.deleted(ids.size));
    if (fault !== null) showToast(generations.notDeleted(ended.length - ids.size, fault));
  };
  return (
    <div class="bulk" role="toolbar" aria-label={generations.chosen(chosen.length)}>
      <strong>{generations.chosen(chosen.length)}</strong>
      <button type="button" class="button" disabled={files === 0} onClick={() => void download(chosen)}>
        <Icon of={Download} />
        {generations.downloadChosen}
      </button>
      {mayDelete && (
        <button type="button" class="button is-danger" disabled={ended.length === 0} onClick={() => ask(true)}>
          <Icon of={Trash2} />
          {generations.deleteChosen}
        </button>
      )}
      <button type="button" class="button is-quiet is-icon" aria-label={generations.clearChoice} onClick={clear}>
        <Icon of={X} />
      </button>
      {isAsked && (
        <Modal title={generations.deleteQuestion(ended.length)} close={() => ask(false)}>
          <DialogForm does={generations.deleteChosen} isDanger close={() => ask(false)} send={send}>
            <p>{generations.deleteAbout}</p>
            {ended.length < chosen.length && <p>{generations.running}</p>}
          </DialogForm>
        </Modal>
      )}
    </div>
  );
};
