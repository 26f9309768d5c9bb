// Button that cancels a generation, with a question before it.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationDetail } from "../../../src/console/generations-dto.ts";
import { call, me } from "../../components/api.ts";
import { Modal } from "../../components/modal.tsx";
import { DialogForm } from "../dialog-form.tsx";

/** Nothing for viewers, who may not change a generation. */
export const CancelButton = ({ id, onCancelled }: { id: string; onCancelled: (id: string) => void }): VNode | null => {
  const [isAsked, ask] = useState(false);
  if (me.value?.signedIn?.role === "viewer") return null;
  const close = () => ask(false);
  const send = () =>
    call<GenerationDetail>("POST", `/console/api/generations/${encodeURIComponent(id)}/cancel`, {}).then(() => {
      close();
      onCancelled(id);
    });
  return (
    <>
      <button type="button" class="button" onClick={() => ask(true)}>
        Cancel
      </button>
      {isAsked && (
        <Modal title="Cancel this generation?" close={close}>
          <DialogForm does="Cancel generation" leaves="Keep it running" isDanger close={close} send={send}>
            <p>No further route is tried. If a provider has already started, it may still deliver, and the result is charged.</p>
          </DialogForm>
        </Modal>
      )}
    </>
  );
};
