// Form of a dialog: one submit button, and the error of the server above it.
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { words } from "../words/console-words.ts";

export const DialogForm = (of: {
  does: string;
  /** Label of the button that closes the dialog without a request; absent: cancel. */
  leaves?: string;
  isDanger?: boolean;
  close: () => void;
  /** Resolves when the request is complete; undefined if a field must be corrected first. */
  send: () => Promise<unknown> | undefined;
  children: ComponentChildren;
}): VNode => {
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setFault(null);
    const sent = of.send();
    if (sent === undefined) return;
    setBusy(true);
    await sent.catch((reason: unknown) => setFault(reason instanceof Error ? reason.message : String(reason)));
    setBusy(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      {of.children}
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={of.close}>
          {of.leaves ?? words.cancel}
        </button>
        <button type="submit" class={`button ${of.isDanger ? "is-danger" : "is-main"}`} disabled={isBusy}>
          {of.does}
        </button>
      </div>
    </form>
  );
};
