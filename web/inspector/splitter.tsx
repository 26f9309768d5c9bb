// A bar between two panes that a pointer or the arrow keys move; the place is stored in this browser.
import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { words } from "../words/inspector-words.ts";

const STORED = "genrouter.inspector.split";
const [LEAST, MOST, FIRST, STEP] = [20, 80, 62, 4];

const clamp = (percent: number): number => Math.min(MOST, Math.max(LEAST, Math.round(percent)));
const stored = (): number => {
  try {
    const percent = Number(localStorage.getItem(STORED) ?? FIRST);
    return Number.isFinite(percent) ? clamp(percent) : FIRST;
  } catch {
    return FIRST;
  }
};

/** Sets `--split` of the panes: the share of the upper one in percent. */
export const Splitter = ({ panes }: { panes: RefObject<HTMLElement | null> }): VNode => {
  const [percent, setPercent] = useState(stored);
  useLayoutEffect(() => panes.current?.style.setProperty("--split", `${percent}%`), [panes, percent]);
  const move = (to: number) => {
    setPercent(clamp(to));
    try {
      localStorage.setItem(STORED, String(clamp(to)));
    } catch {
      // Without local storage the place lasts until the page is closed.
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowUp: percent - STEP, ArrowDown: percent + STEP, Home: LEAST, End: MOST }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  const onPointerMove = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (!panes.current || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const { top, height } = panes.current.getBoundingClientRect();
    move(((event.clientY - top) / height) * 100);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is no thematic break
    <div
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-orientation="horizontal"
      aria-label={words.inspector.live.split}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={percent}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
    />
  );
};
