// Switch between a gallery and a list.
import { LayoutGrid, List } from "lucide";
import type { VNode } from "preact";
import { words } from "../words/console-words.ts";
import { Icon } from "./icon.tsx";

export type ListView = "gallery" | "list";

export const ViewSwitch = ({ view, set }: { view: ListView; set: (view: ListView) => void }): VNode => (
  <fieldset class="segments view">
    <legend class="unseen">{words.generations.view}</legend>
    {(["gallery", "list"] as const).map((name) => (
      <label key={name} class="segment" title={words.generations[name]}>
        <input type="radio" name="view" aria-label={words.generations[name]} checked={view === name} onChange={() => set(name)} />
        <span>
          <Icon of={name === "gallery" ? LayoutGrid : List} />
        </span>
      </label>
    ))}
  </fieldset>
);
