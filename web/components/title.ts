// Title of a page that is known only after its data has arrived, for example the prompt of a generation.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Replaces the title of the table of pages; null: not replaced. */
export const ownTitle = signal<string | null>(null);

/** Shows a title while the page is open. */
export const useTitle = (title: string | undefined): void => {
  useEffect(() => {
    if (title === undefined) return;
    ownTitle.value = title;
    return () => {
      ownTitle.value = null;
    };
  }, [title]);
};
