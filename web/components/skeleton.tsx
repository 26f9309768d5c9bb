// Grey shapes in the place of content that is being loaded, so that nothing moves when it arrives.
import type { VNode } from "preact";
import { words } from "../words/words.ts";

/** @param lines height of the expected content, in lines of text */
export const Skeleton = ({ lines = 3, label = words.frame.loading }: { lines?: number; label?: string }): VNode => (
  <div class="skeleton" aria-busy="true">
    <span class="unseen">{label}</span>
    {Array.from({ length: lines }, (_, n) => (
      <span key={n} class="skeleton-line" />
    ))}
  </div>
);
