// Opens the command palette: by its button, by Ctrl-K or ⌘-K, and by a slash outside of a field.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { NavigationEntry } from "./layout.tsx";
import { lazyPage } from "./lazy-page.tsx";

const CommandPalette = lazyPage(async () => (await import("./command-palette.tsx")).CommandPalette);

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export const usePalette = (places: readonly NavigationEntry[]): { open: () => void; dialog: VNode | null } => {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isShortcut = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      const isSlash = event.key === "/" && !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey;
      // Another dialog keeps its keys.
      if ((!isShortcut && !isSlash) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return {
    open: () => setOpen(true),
    dialog: isOpen ? <CommandPalette places={places} close={() => setOpen(false)} /> : null,
  };
};
