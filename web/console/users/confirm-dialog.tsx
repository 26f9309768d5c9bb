// Confirmation dialog for changes that affect other users at once.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { DialogState } from "../operator/dialog.tsx";

export type Confirmation = {
  title: string;
  /** Effect of the change. */
  says: string;
  /** Label of the button. */
  does: string;
  run: () => Promise<unknown>;
};

/** The open dialog, if any, and the function that opens it. */
export const useConfirmation = (): [VNode | null, (confirmation: Confirmation) => void] => {
  const [confirmation, think] = useState<Confirmation | null>(null);
  const hadOne = useRef(false);
  // The element that opened the dialog may have been removed by the change; the focus then moves to the head of the page.
  useEffect(() => {
    if (confirmation !== null) hadOne.current = true;
    else if (hadOne.current && document.activeElement === document.body) document.querySelector<HTMLElement>("main h1")?.focus();
  }, [confirmation]);
  if (confirmation === null) return [null, think];
  const close = () => think(null);
  const run = async () => {
    await confirmation.run();
    close();
    return undefined;
  };
  const dialog = (
    <DialogState title={confirmation.title} does={confirmation.does} isDanger close={close} run={run}>
      <p>{confirmation.says}</p>
    </DialogState>
  );
  return [dialog, think];
};
