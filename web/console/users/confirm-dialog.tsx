// A second thought before what others feel at once: a dialog says what will happen, and does it only when it is meant.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { DialogState } from "../operator/dialog.tsx";

export type Thought = {
  title: string;
  /** What will happen. */
  says: string;
  /** The word on the button that does it. */
  does: string;
  run: () => Promise<unknown>;
};

/** The dialog while there is one, and what opens it. */
export const useSecondThought = (): [VNode | null, (thought: Thought) => void] => {
  const [thought, think] = useState<Thought | null>(null);
  const hadOne = useRef(false);
  // What it was opened with may be gone with what it did: then the focus goes to the head of the page, not to nowhere.
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
