// A scrollable region that can be focused and scrolled by keyboard.
import type { ComponentChildren, Ref, VNode } from "preact";

type Props = { label: string; class: string; frame?: Ref<HTMLElement>; children: ComponentChildren };

export const Scrolling = ({ label, class: name, frame, children }: Props): VNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
  <section class={`scrolls ${name}`} aria-label={label} tabIndex={0} ref={frame ?? null}>
    {children}
  </section>
);
