// Drop-down menu: a button that shows a panel of links and buttons.
import type { IconNode } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

type Props = {
  label: string;
  icon: IconNode;
  /** Shows the label beside the icon; otherwise it is announced only. */
  isLabelled?: boolean;
  class?: string;
  children: ComponentChildren;
};

/** Closes the menu after a click elsewhere or on one of its entries, after focus that leaves, and after Escape. */
const useMenu = () => {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const menu = place.current;
    if (!isOpen || !menu) return;
    const ending = new AbortController();
    const { signal } = ending;
    const close = () => setOpen(false);
    const leave = ({ target }: Event) => target instanceof Node && !menu.contains(target) && close();
    document.addEventListener("pointerdown", leave, { signal });
    document.addEventListener("focusin", leave, { signal });
    menu.addEventListener("click", ({ target }) => target instanceof Element && target.closest("a, [data-closes]") && close(), {
      signal,
    });
    menu.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
        menu.querySelector("button")?.focus();
      },
      { signal },
    );
    return () => ending.abort();
  }, [isOpen]);
  return { isOpen, setOpen, place };
};

export const Menu = ({ label, icon, isLabelled = false, class: name = "", children }: Props): VNode => {
  const id = useId();
  const { isOpen, setOpen, place } = useMenu();
  return (
    <div ref={place} class={`menu ${name}`}>
      <button
        type="button"
        class={`button is-quiet${isLabelled ? "" : " is-icon"}`}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={isLabelled ? undefined : label}
        title={isLabelled ? undefined : label}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon of={icon} />
        {isLabelled && label}
      </button>
      <div id={id} class="menu-panel" hidden={!isOpen}>
        {isOpen && children}
      </div>
    </div>
  );
};
