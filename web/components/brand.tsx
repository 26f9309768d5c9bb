// Logo mark and name of the product. src/http/pages/assets/favicon.svg is the same drawing.
import type { VNode } from "preact";

/** One request on the left, three routes, and the delivered file at the end of one of them. */
export const Brand = (): VNode => (
  <a class="brand" href="/console" aria-label="genrouter">
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect class="brand-back" width="32" height="32" rx="8" />
      <path class="brand-quiet" d="M8 16h4c4 0 4-7 8-7h3M8 16h4c4 0 4 7 8 7h3" />
      <path class="brand-route" d="M8 16h15" />
      <circle class="brand-end" cx="23" cy="16" r="3" />
    </svg>
    <span>genrouter</span>
  </a>
);
