// Buttons that save the view as SVG, Mermaid or JSON, created in the page.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { words } from "../words/inspector-words.ts";

/** Loads the code of the file formats of a chart. */
export const chartFiles = () => import("./chart-files.ts");

const TYPES = { svg: "image/svg+xml", mmd: "text/plain", json: "application/json" } as const;
type Form = keyof typeof TYPES;
const NAMES: Readonly<Record<Form, string>> = { svg: "SVG", mmd: "Mermaid", json: "JSON" };

const save = (name: string, type: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has read the file by then.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};

/** @param name of the files, without extension. @param make content of each format, created on demand. */
export const Exports = (of: { name: string; make: Readonly<Record<Form, () => string | Promise<string>>> }): VNode => {
  const [fault, setFault] = useState(false);
  const saveAs = async (form: Form) => {
    try {
      save(`${of.name}.${form}`, TYPES[form], await of.make[form]());
      setFault(false);
    } catch {
      setFault(true);
    }
  };
  return (
    <fieldset class="exports">
      <legend>{words.inspector.exports.title}</legend>
      {(Object.keys(TYPES) as Form[]).map((form) => (
        <button key={form} type="button" class="button is-small" onClick={() => void saveAs(form)}>
          {NAMES[form]}
        </button>
      ))}
      {fault && <span role="alert">{words.inspector.exports.failed}</span>}
    </fieldset>
  );
};
