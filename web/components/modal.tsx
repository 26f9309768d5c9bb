// A dialog over the page, as every page opens one.
import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

/** The focus stays in it, Escape closes it, and comes back to where it was. */
export const Modal = (of: { title: string; close: () => void; children: ComponentChildren }): VNode => {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isGone = useRef(false);
  const leave = () => isGone.current || of.close();
  // At once: the browser tells of its own closing later, and by then the next dialog may have been asked for.
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
      // Closed before it is taken away, it gives the focus back; taken away alone, the focus is nowhere.
      dialog?.close();
    };
  }, []);
  return (
    <dialog ref={place} class="dialog" aria-labelledby={id} onKeyDown={onKeyDown} onClose={leave}>
      <h2 id={id}>{of.title}</h2>
      {of.children}
    </dialog>
  );
};
