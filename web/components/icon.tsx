// Icons of Lucide, as inline SVG in the colour of the text. An icon stands beside its label, so screen readers skip it.
import type { IconNode } from "lucide";
import { h, type VNode } from "preact";

/** @param size in CSS pixels */
export const Icon = ({ of, size = 18 }: { of: IconNode; size?: number }): VNode => (
  <svg
    class="icon"
    viewBox="0 0 24 24"
    width={size}
    height={size}
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    {of.map(([tag, attributes]) => h(tag, attributes))}
  </svg>
);
