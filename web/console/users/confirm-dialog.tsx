// Confirmation dialog for changes that affect other users at once.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { DialogState } from "../operator/dialog.tsx";

export type Thought = {
  title: string;
  /** Effect of the change. */
  says: string;
  /** Label of the button. */
  does: string;
  run: () => Promise<unknown>;
};

/** The open dialog, if any, and the function that opens it. */
export const useSecondThought = (): [VNode | null, (thought: Thought) => void] => {
  const [thought, think] = useState<Thought | null>(null);
  const hadOne = useRef(false);
  // The element that opened the dialog may have been removed by the change; the focus then moves to the head of the page.
  useEffect(() => {
    if (thought !== null) hadOne.current = true;
    else if (hadOne.current && document.activeElement === document.body) document.querySelector<HTMLElement>("main h1")?.focus();
  }, [thought]);
  if (thought === null) return [null, think];
  const close = () => think(null);
  const run = async () => {
    await thought.run();
    close();
    return undefined;
  };
  const dialog = (
    <DialogState title={thought.title} does={thought.does} isDanger close={close} run={run}>
      <p>{thought.says}</p>
    </DialogState>
  );
  return [dialog, think];
};
