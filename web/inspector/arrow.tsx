// Arrows between states as icons, each with a word for screen readers.
import { ArrowLeftRight, ArrowRight } from "lucide";
import type { VNode } from "preact";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";

/** @param isBoth true if transitions lead in both directions. */
export const Arrow = ({ isBoth = false }: { isBoth?: boolean }): VNode => {
  const { arrow: text } = words.inspector;
  return (
    <span class="arrow">
      <Icon of={isBoth ? ArrowLeftRight : ArrowRight} size={14} />
      <span class="unseen">{isBoth ? text.both : text.to}</span>
    </span>
  );
};

/** `from` and `to` with an arrow between them. Without `from`, only `to`. */
export const FromTo = ({ from, to, isBoth = false }: { from: string | null; to: string; isBoth?: boolean }): VNode =>
  from === null ? (
    <>{to}</>
  ) : (
    <>
      {from} <Arrow isBoth={isBoth} /> {to}
    </>
  );
