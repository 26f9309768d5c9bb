// A dialog over the page, as every page opens one.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** The focus stays in it, Escape closes it, and comes back to where it was. */
export const Modal = (of: { title: string; close: () => void; children: ComponentChildren }): VNode => {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isGone = useRef(false);
  useEffect(() => {
    const dialog = place.current;
    dialog?.showModal();
    return () => {
      isGone.current = true;
      // Closed before it is taken away, it gives the focus back; taken away alone, the focus is nowhere.
      dialog?.close();
    };
  }, []);
  return (
    <dialog ref={place} class="dialog" aria-labelledby={id} onClose={() => isGone.current || of.close()}>
      <h2 id={id}>{of.title}</h2>
      {of.children}
    </dialog>
  );
};
