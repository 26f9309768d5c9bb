// Moves what scrolls: dragged by the mouse (a finger scrolls by itself), and brought to where something is in sight, without moving the page.

/** Pixels after which a press was a drag and is no click. */
const DRAGGED = 4;

/** Makes an element's content follow the mouse while its button is down. @returns what takes that back. */
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
  /** Whoever drags the chart chooses nothing of it; a key drags nothing. */
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

/** What stays at the top of the page while it scrolls, and lies over what is below. */
const COVERS = ".top, .replay-time";

/** The part of a frame's height that is on the screen, from its upper edge; all of it where too little is. */
const seenPart = (frame: HTMLElement, least: number): [from: number, to: number] => {
  const { top, bottom } = frame.getBoundingClientRect();
  const covered = [...document.querySelectorAll(COVERS)].map((cover) => cover.getBoundingClientRect().bottom);
  const from = Math.max(top, 0, ...covered) - top;
  const to = Math.min(bottom, innerHeight) - top;
  return to - from < least ? [0, frame.clientHeight] : [from, Math.min(to, frame.clientHeight)];
};

/** From the left and the top of what is in the frame. */
export type Spot = { x: number; y: number; width: number; height: number };

/** Left free beside a spot that cannot stand in the middle. */
const MARGIN = 12;
/** Room that was made above what is in a frame, so that its beginning can be scrolled down. */
const roomAbove = new WeakMap<HTMLElement, number>();
/** Makes room above and below; what is seen stays where it is. */
const makeRoom = (frame: HTMLElement, above: number, below: number): void => {
  const before = roomAbove.get(frame) ?? 0;
  roomAbove.set(frame, above);
  frame.style.setProperty("--above", `${above}px`);
  frame.style.setProperty("--below", `${below}px`);
  if (above !== before) frame.scrollBy({ top: above - before, behavior: "instant" });
};

/**
 * Brings a spot into the middle of what is seen of the frame, where it is not in sight. The page stays where it is: where the frame is on the
 * screen in part, what is in it is moved further than it would go by itself.
 * @param tall height of all that is in the frame
 */
export const scrollIntoView = (frame: HTMLElement, spot: Spot, tall: number, moves: "smooth" | "instant"): void => {
  const { x, y, width, height } = spot;
  const [from, to] = seenPart(frame, height);
  const { scrollLeft, clientWidth } = frame;
  const scrollTop = frame.scrollTop - (roomAbove.get(frame) ?? 0);
  const fits = (top: number) => y >= top + from && y + height <= top + to;
  if (x >= scrollLeft && x + width <= scrollLeft + clientWidth && fits(scrollTop)) {
    // A movement that was under way ends here: it would take it out again.
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
  makeRoom(frame, above, Math.max(0, top - most));
  const isStill = moves === "instant" || matchMedia("(prefers-reduced-motion: reduce)").matches;
  frame.scrollTo({ left: x + width / 2 - clientWidth / 2, top: top + above, behavior: isStill ? "instant" : "smooth" });
};
