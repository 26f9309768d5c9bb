// Button that copies a text and confirms it.
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { words } from "../../words/console-words.ts";

const SAID_MS = 2000;

export const Copy = ({ text, says, of }: { text: string; says: string; of: string }): VNode => {
  const [message, setSaid] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const copy = async () => {
    const done = await navigator.clipboard.writeText(text).then(
      () => words.copy.copied,
      () => words.copy.failed,
    );
    setSaid(done);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <span class="copy">
      <button type="button" aria-label={`${says} ${of}`} onClick={() => void copy()}>
        {says}
      </button>
      <span role="status">{message}</span>
    </span>
  );
};
