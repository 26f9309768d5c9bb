// Modal dialog of all pages.
import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

/** The focus stays inside, Escape closes the dialog, and the focus then returns to the previous element. */
export const Modal = (of: {
  title: string;
  /** A further class of the dialog. */
  class?: string;
  /** True if Escape does not always close the dialog: `close` decides. */
  isGuarded?: boolean;
  close: () => void;
  children: ComponentChildren;
}): VNode => {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isGone = useRef(false);
  const leave = () => isGone.current || of.close();
  // The back gesture of a phone closes a dialog without a key.
  const onClose = () => {
    if (of.isGuarded && !isGone.current) place.current?.showModal();
    leave();
  };
  // Handled here, because the browser reports its own closing later, when the next dialog may already be open.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    leave();
  };
  useLayoutEffect(() => {
    const dialog = place.current;
    dialog?.showModal();
    return () => {
      isGone.current = true;
      // A dialog returns the focus only if it is closed before it is removed.
      dialog?.close();
    };
  }, []);
  return (
    <dialog
      ref={place}
      class={of.class === undefined ? "dialog" : `dialog ${of.class}`}
      aria-labelledby={id}
      onKeyDown={onKeyDown}
      onClose={onClose}
    >
      <h2 id={id}>{of.title}</h2>
      {of.children}
    </dialog>
  );
};
