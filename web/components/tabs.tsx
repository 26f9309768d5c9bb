// Tabs: one panel of several is shown.
import type { ComponentChildren, VNode } from "preact";
import { useId, useRef } from "preact/hooks";

export type Tab<Name extends string> = { name: Name; label: string };
type Props<Name extends string> = {
  label: string;
  tabs: readonly Tab<Name>[];
  current: Name;
  choose: (name: Name) => void;
  children: ComponentChildren;
};

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/** Arrow keys move between the tabs; only the current one is in the tab order. */
export const Tabs = <Name extends string>({ label, tabs, current, choose, children }: Props<Name>): VNode => {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const at = tabs.findIndex(({ name }) => name === current);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (at + step + tabs.length) % tabs.length;
    const tab = tabs[next];
    if (!tab) return;
    choose(tab.name);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} class="tab-list" onKeyDown={onKeyDown}>
        {tabs.map(({ name, label: text }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === current}
            aria-controls={`${id}-panel`}
            tabIndex={name === current ? 0 : -1}
            onClick={() => choose(name)}
          >
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </div>
  );
};
