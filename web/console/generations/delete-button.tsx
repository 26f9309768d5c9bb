// Button that deletes an ended generation, with a question before it and the older backups after it.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ErasedGeneration, GenerationDetail } from "../../../src/console/generations-dto.ts";
import { call, me } from "../../components/api.ts";
import { dayText } from "../../components/format.ts";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";
import { DialogForm } from "../dialog-form.tsx";

type Backups = ErasedGeneration["backups"];

const OlderBackups = ({ backups, close }: { backups: Backups; close: () => void }): VNode => (
  <Modal title={words.deleting.done} close={close}>
    <p>{words.deleting.backups}</p>
    <ul>
      {backups.map(({ name, expiresAtMs }) => (
        <li key={name}>
          <code>{name}</code> {expiresAtMs === null ? words.deleting.untilDeleted : words.deleting.until(dayText(expiresAtMs))}
        </li>
      ))}
    </ul>
    <div class="dialog-buttons">
      <button type="button" class="button is-main" onClick={close}>
        {words.deleting.close}
      </button>
    </div>
  </Modal>
);

type Props = { of: Pick<GenerationDetail, "id" | "erasedAtMs" | "files">; onDeleted: () => void };

/** Nothing for viewers, who may not change a generation. Without a text and a file, nothing is left to delete. */
export const DeleteButton = ({ of, onDeleted }: Props): VNode | null => {
  const [isAsked, ask] = useState(false);
  const [older, setOlder] = useState<Backups>([]);
  if (me.value?.signedIn?.role === "viewer") return null;
  const close = () => ask(false);
  const send = () =>
    call<ErasedGeneration>("DELETE", `/console/api/generations/${encodeURIComponent(of.id)}`).then(({ backups }) => {
      close();
      setOlder(backups);
      onDeleted();
    });
  return (
    <>
      {(of.erasedAtMs === null || of.files.length > 0) && (
        <button type="button" class="button" onClick={() => ask(true)}>
          {words.deleting.open}
        </button>
      )}
      {isAsked && (
        <Modal title={words.deleting.title} close={close}>
          <DialogForm does={words.deleting.does} leaves={words.deleting.leaves} isDanger close={close} send={send}>
            <p>{words.deleting.erased}</p>
            <p>{words.deleting.stays}</p>
          </DialogForm>
        </Modal>
      )}
      {older.length > 0 && <OlderBackups backups={older} close={() => setOlder([])} />}
    </>
  );
};
