// Drags what scrolls by the mouse; a finger scrolls by itself.

/** Makes an element's content follow the mouse while its button is down. @returns what takes that back. */
export const panBy = (frame: HTMLElement): (() => void) => {
  let from: { x: number; y: number; left: number; top: number } | null = null;
  const onDown = (event: PointerEvent) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
  };
  const onMove = (event: PointerEvent) => {
    if (!from) return;
    frame.scrollTo({ left: from.left + from.x - event.clientX, top: from.top + from.y - event.clientY, behavior: "instant" });
  };
  const onUp = () => {
    from = null;
  };
  frame.addEventListener("pointerdown", onDown);
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
  return () => {
    frame.removeEventListener("pointerdown", onDown);
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
  };
};
