// A scrollable region that can be focused and scrolled by keyboard.
import type { ComponentChildren, Ref, TargetedEvent, VNode } from "preact";

type Props = {
  label: string;
  class: string;
  frame?: Ref<HTMLElement>;
  onScroll?: (event: TargetedEvent<HTMLElement>) => void;
  children: ComponentChildren;
};

export const Scrolling = ({ label, class: name, frame, onScroll, children }: Props): VNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
  <section class={`scrolls ${name}`} aria-label={label} tabIndex={0} ref={frame ?? null} onScroll={onScroll}>
    {children}
  </section>
);
