// Command palette: a search over pages, models and pasted ids, operated by the keyboard.
import { Box, type IconNode, Search } from "lucide";
import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ModelsDto } from "../../src/console/generations-dto.ts";
import { words } from "../words/console-words.ts";
import { Icon } from "./icon.tsx";
import type { NavigationEntry } from "./layout.tsx";
import { openPath } from "./links.ts";
import { Modal } from "./modal.tsx";
import { useQuery } from "./use-query.ts";

type Command = { key: string; label: string; kind: string; href: string; icon: IconNode };

/** Ids that name a page, by their prefix. */
const PAGES_OF_IDS: Readonly<Record<string, (id: string) => string>> = {
  gen: (id) => `/console/generations/${id}`,
  acc: (id) => `/console/operator/accounts/${id}`,
  pur: (id) => `/console/receipts/${id}`,
};
const MOST = 12;

const commandOfId = (text: string): Command[] => {
  const prefix = /^(gen|acc|pur)_\w+$/.exec(text)?.[1];
  const href = prefix === undefined ? undefined : PAGES_OF_IDS[prefix]?.(text);
  return href === undefined ? [] : [{ key: text, label: text, kind: words.palette.open, href, icon: Search }];
};

const commandsFor = (text: string, places: readonly NavigationEntry[], models: ModelsDto["models"]): Command[] => {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (haystack: string): boolean => parts.every((part) => haystack.toLowerCase().includes(part));
  const pages = places
    .filter(({ label }) => matches(label))
    .map(({ href, label, icon }): Command => ({ key: href, label, kind: words.palette.page, href, icon }));
  const found = models
    .filter(({ id, name, maker, tasks }) => matches(`${id} ${name} ${maker ?? ""} ${tasks.join(" ")}`))
    .map(({ id, name }): Command => {
      const href = `/console/playground?model=${encodeURIComponent(id)}`;
      return { key: `model ${id}`, label: name, kind: words.palette.model, href, icon: Box };
    });
  return [...commandOfId(text.trim()), ...pages, ...(parts.length > 0 ? found : [])].slice(0, MOST);
};

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export const CommandPalette = (of: { places: readonly NavigationEntry[]; close: () => void }): VNode => {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { value } = useQuery<ModelsDto>("/console/api/models");
  const found = commandsFor(text, of.places, value?.models ?? []);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" }), [id, chosen]);
  const run = ({ href }: Command): void => {
    of.close();
    openPath(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((chosen + step + found.length) % found.length);
    }
    const command = found[chosen];
    if (event.key !== "Enter" || event.isComposing || !command) return;
    event.preventDefault();
    run(command);
  };
  return (
    <Modal title={words.palette.label} class="palette" close={of.close}>
      <input
        ref={input}
        type="search"
        // biome-ignore lint/a11y/noRedundantRoles: a search field has this role only with a datalist.
        role="combobox"
        list={undefined}
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        aria-label={words.palette.label}
        placeholder={words.palette.placeholder}
        autocomplete="off"
        value={text}
        onKeyDown={onKeyDown}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
      />
      <div role="listbox" id={`${id}-list`} aria-label={words.palette.label} class="palette-list">
        {found.map((command, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys of its options.
          <div
            key={command.key}
            id={`${id}-${n}`}
            role="option"
            tabIndex={-1}
            aria-selected={n === chosen}
            onClick={() => run(command)}
            onPointerMove={() => setAt(n)}
          >
            <Icon of={command.icon} />
            <span>{command.label}</span>
            <small>{command.kind}</small>
          </div>
        ))}
      </div>
      <p class="palette-foot" role="status">
        {found.length === 0 ? words.palette.none(text) : words.palette.keys}
      </p>
    </Modal>
  );
};
