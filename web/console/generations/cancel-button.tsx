// Button that cancels a generation, with a question before it.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationDetail } from "../../../src/console/generations-dto.ts";
import { call, me } from "../../components/api.ts";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";
import { DialogForm } from "../dialog-form.tsx";

/** Nothing for viewers, who may not change a generation. */
export const CancelButton = ({ id, onCancelled }: { id: string; onCancelled: (id: string) => void }): VNode | null => {
  const [isAsked, ask] = useState(false);
  if (me.value?.signedIn?.role === "viewer") return null;
  const { cancelling } = words;
  const close = () => ask(false);
  const send = () =>
    call<GenerationDetail>("POST", `/console/api/generations/${encodeURIComponent(id)}/cancel`, {}).then(() => {
      close();
      onCancelled(id);
    });
  return (
    <>
      <button type="button" class="button" onClick={() => ask(true)}>
        {cancelling.open}
      </button>
      {isAsked && (
        <Modal title={cancelling.title} close={close}>
          <DialogForm does={cancelling.does} leaves={cancelling.leaves} isDanger close={close} send={send}>
            <p>{cancelling.about}</p>
          </DialogForm>
        </Modal>
      )}
    </>
  );
};
