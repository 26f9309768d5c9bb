// A part of a page that scrolls by itself, and is reached by keyboard so that it can be scrolled.
import type { ComponentChildren, Ref, VNode } from "preact";

type Props = { label: string; class: string; frame?: Ref<HTMLElement>; children: ComponentChildren };

export const Scrolling = ({ label, class: name, frame, children }: Props): VNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
  <section class={`scrolls ${name}`} aria-label={label} tabIndex={0} ref={frame ?? null}>
    {children}
  </section>
);
