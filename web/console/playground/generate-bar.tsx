// The bottom of the form: number of variants, the price, and the button that submits.
import type { VNode } from "preact";
import { shortcutText } from "../../components/shortcut.ts";
import { words } from "../../words/console-words.ts";
import { MOST_VARIANTS } from "./draft.ts";

type Props = {
  variants: number;
  setVariants: (variants: number) => void;
  /** Total price of a submission; empty while it is unknown. */
  price: string;
  /** What keeps the button from submitting. */
  state: "ready" | "busy" | "uploading" | "not-allowed";
};

export const GenerateBar = ({ variants, setVariants, price, state }: Props): VNode => (
  <div class="generate-bar">
    <label class="variants" title={words.playground.variantsAbout}>
      <span>{words.playground.variants}</span>
      <select value={variants} onChange={({ currentTarget }) => setVariants(Number(currentTarget.value))}>
        {Array.from({ length: MOST_VARIANTS }, (_, n) => (
          <option key={n} value={n + 1}>
            {n + 1}
          </option>
        ))}
      </select>
    </label>
    <button
      type="submit"
      class="button is-main"
      disabled={state !== "ready"}
      title={words.playground.shortcut(shortcutText("Enter"))}
    >
      {state === "busy" && words.playground.submitting}
      {state === "uploading" && words.playground.uploading}
      {(state === "ready" || state === "not-allowed") && words.playground.generate(price)}
    </button>
  </div>
);
