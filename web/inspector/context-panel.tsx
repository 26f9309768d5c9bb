// Context of the selected actor, as far as it may be shown.
import type { VNode } from "preact";
import type { ChosenActor } from "../../src/inspector/dto.ts";
import { Scrolling } from "./scrolling.tsx";

export const LiveMemory = ({ chosen, prompts }: { chosen: ChosenActor | null; prompts: boolean }): VNode => {
  const context = chosen?.context ?? null;
  const isThere = context !== null && Object.keys(context).length > 0;
  return (
    <section class="live-memory" aria-label="Context">
      <h2>Context{isThere && !prompts ? <span class="live-count"> prompts are not shown</span> : null}</h2>
      {isThere ? (
        <Scrolling class="live-remembered" label="Context as JSON">
          <pre>{JSON.stringify(context, null, 2)}</pre>
        </Scrolling>
      ) : (
        <p class="live-nothing">{chosen === null ? "Select an actor to show its context." : "The context is empty."}</p>
      )}
    </section>
  );
};
