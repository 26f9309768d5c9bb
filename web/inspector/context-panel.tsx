// Context of the selected actor, as far as it may be shown.
import type { VNode } from "preact";
import type { ChosenActor } from "../../src/inspector/dto.ts";
import { Scrolling } from "./scrolling.tsx";

export const LiveMemory = ({ chosen, prompts }: { chosen: ChosenActor | null; prompts: boolean }): VNode => {
  const context = chosen?.context ?? null;
  const isThere = context !== null && Object.keys(context).length > 0;
  return (
    <section class="live-memory" aria-label="Memory">
      <h2>Memory{isThere && !prompts ? <span class="live-count"> prompts are not shown</span> : null}</h2>
      {isThere ? (
        <Scrolling class="live-remembered" label="What it remembers">
          <pre>{JSON.stringify(context, null, 2)}</pre>
        </Scrolling>
      ) : (
        <p class="live-nothing">{chosen === null ? "Choose an actor to see what it remembers." : "It remembers nothing."}</p>
      )}
    </section>
  );
};
