// Buttons that save what is shown: as SVG, as Mermaid, as JSON. The files are made in the page.
import type { VNode } from "preact";

const TYPES = { svg: "image/svg+xml", mmd: "text/plain", json: "application/json" } as const;
type Form = keyof typeof TYPES;
const NAMES: Readonly<Record<Form, string>> = { svg: "SVG", mmd: "Mermaid", json: "JSON" };

const save = (name: string, type: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the file by the next turn.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};

/** @param name of the files, without the ending. @param make the text of each, made when it is asked for. */
export const Exports = ({ name, make }: { name: string; make: Readonly<Record<Form, () => string>> }): VNode => (
  <fieldset class="exports">
    <legend>Save as</legend>
    {(Object.keys(TYPES) as Form[]).map((form) => (
      <button key={form} type="button" onClick={() => save(`${name}.${form}`, TYPES[form], make[form]())}>
        {NAMES[form]}
      </button>
    ))}
  </fieldset>
);
