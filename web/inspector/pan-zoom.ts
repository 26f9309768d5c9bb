// Pans a scrollable frame by mouse and scrolls to a position inside it.
//
// Touch scrolling is left to the browser. The page itself is not scrolled.

/** Distance in pixels beyond which a press is a drag and not a click. */
const DRAGGED = 4;

/**
 * Makes the content of an element follow the mouse while its button is pressed. @returns a function that removes the handlers.
 */
export const panBy = (frame: HTMLElement): (() => void) => {
  let from: { x: number; y: number; left: number; top: number } | null = null;
  let isDragged = false;
  const onDown = (event: PointerEvent) => {
    isDragged = false;
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
  };
  const onMove = (event: PointerEvent) => {
    if (!from) return;
    const [x, y] = [from.x - event.clientX, from.y - event.clientY];
    isDragged ||= Math.hypot(x, y) > DRAGGED;
    frame.scrollTo({ left: from.left + x, top: from.top + y, behavior: "instant" });
  };
  const onUp = () => {
    from = null;
  };
  /** A drag must not select anything in the chart; a key press is not affected. */
  const onClick = (event: MouseEvent) => {
    if (isDragged && event.detail > 0) event.stopPropagation();
    isDragged = false;
  };
  frame.addEventListener("pointerdown", onDown);
  frame.addEventListener("click", onClick, { capture: true });
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
  return () => {
    frame.removeEventListener("pointerdown", onDown);
    frame.removeEventListener("click", onClick, { capture: true });
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
  };
};

/** Sticky elements at the top of the page, which cover the content below. */
const COVERS = ".top, .replay-time";

/** The visible part of a frame's height, from its upper edge; the complete height if less than `least` is visible. */
const seenPart = (frame: HTMLElement, least: number): [from: number, to: number] => {
  const { top, bottom } = frame.getBoundingClientRect();
  const covered = [...document.querySelectorAll(COVERS)].map((cover) => cover.getBoundingClientRect().bottom);
  const from = Math.max(top, 0, ...covered) - top;
  const to = Math.min(bottom, innerHeight) - top;
  return to - from < least ? [0, frame.clientHeight] : [from, Math.min(to, frame.clientHeight)];
};

/** Position and size relative to the content of the frame. */
export type Spot = { x: number; y: number; width: number; height: number };

/** Free space beside a position that cannot be centred. */
const MARGIN = 12;
/** Padding added above the content of a frame, so that its start can be scrolled down. */
const spaceAbove = new WeakMap<HTMLElement, number>();
/** Sets the padding above and below; the visible content does not move. */
const evictOldest = (frame: HTMLElement, above: number, below: number): void => {
  const before = spaceAbove.get(frame) ?? 0;
  spaceAbove.set(frame, above);
  frame.style.setProperty("--above", `${above}px`);
  frame.style.setProperty("--below", `${below}px`);
  if (above !== before) frame.scrollBy({ top: above - before, behavior: "instant" });
};

/**
 * Scrolls a position that is not visible to the middle of the visible part of the frame. The page does not scroll. If the frame
 * is partly off screen, padding allows its content to scroll beyond its normal range.
 * @param tall height of the content of the frame
 */
export const scrollIntoView = (frame: HTMLElement, spot: Spot, tall: number, moves: "smooth" | "instant"): void => {
  const { x, y, width, height } = spot;
  const [from, to] = seenPart(frame, height);
  const { scrollLeft, clientWidth } = frame;
  const scrollTop = frame.scrollTop - (spaceAbove.get(frame) ?? 0);
  const fits = (top: number) => y >= top + from && y + height <= top + to;
  if (x >= scrollLeft && x + width <= scrollLeft + clientWidth && fits(scrollTop)) {
    // Stops a running animation, which would scroll the position out of view again.
    frame.scrollTo({ left: scrollLeft, top: frame.scrollTop, behavior: "instant" });
    return;
  }
  const most = Math.max(0, tall - frame.clientHeight);
  const middle = y + height / 2 - (from + to) / 2;
  const near = Math.min(most, Math.max(0, middle));
  const margin = Math.min(MARGIN, (to - from - height) / 2);
  const beyond = middle > near ? Math.ceil(y + height + margin - to) : Math.floor(y - margin - from);
  const top = fits(near) ? near : beyond;
  const above = Math.max(0, -top);
  evictOldest(frame, above, Math.max(0, top - most));
  const isStill = moves === "instant" || matchMedia("(prefers-reduced-motion: reduce)").matches;
  frame.scrollTo({ left: x + width / 2 - clientWidth / 2, top: top + above, behavior: isStill ? "instant" : "smooth" });
};
