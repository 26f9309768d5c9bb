// Context of the selected actor, as far as it may be shown.
import type { VNode } from "preact";
import type { ChosenActor } from "../../src/inspector/dto.ts";
import { words } from "../words/inspector-words.ts";
import { Scrolling } from "./scrolling.tsx";

export const LiveMemory = ({ chosen, prompts }: { chosen: ChosenActor | null; prompts: boolean }): VNode => {
  const { events: text } = words.inspector;
  const context = chosen?.context ?? null;
  const isThere = context !== null && Object.keys(context).length > 0;
  return (
    <section class="live-memory" aria-label={text.context}>
      {isThere && !prompts ? <p class="muted">{text.promptsHidden}</p> : null}
      {isThere ? (
        <Scrolling class="live-remembered" label={text.contextAsJson}>
          <pre>{JSON.stringify(context, null, 2)}</pre>
        </Scrolling>
      ) : (
        <p class="live-nothing">{chosen === null ? text.selectActor : text.contextEmpty}</p>
      )}
    </section>
  );
};
