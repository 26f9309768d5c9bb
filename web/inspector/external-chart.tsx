// Statechart of an external program, shown as nested boxes.
//
// Its definition is untrusted. It is shown as text, and only as far as it can be parsed.
import type { VNode } from "preact";
import type { Json, JsonObject } from "../../src/domain/types.ts";

const MAX_DEEP = 8;
const MAX_STATES = 300;

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
/** Targets of a transition in any of the supported notations. */
const targetsOf = (value: Json | undefined): string[] => {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(targetsOf);
  const { target } = objectOf(value);
  return target === undefined ? ["stays"] : targetsOf(target);
};

type Box = { name: string; path: string; definition: JsonObject };
type Budget = { left: number };

const State = ({ box, active, deep, budget }: { box: Box; active: readonly string[]; deep: number; budget: Budget }): VNode => {
  const { name, path, definition } = box;
  const isActive = active.some((leaf) => leaf === path || leaf.startsWith(`${path}.`));
  const below = deep < MAX_DEEP ? boxesOf(definition, path, budget) : [];
  const events = Object.entries(objectOf(definition.on)).slice(0, 30);
  const kind = typeof definition.type === "string" && definition.type !== "compound" ? definition.type : "";
  return (
    <li class={`guest-state${isActive ? " is-active" : ""}`} aria-current={isActive ? "step" : undefined}>
      <strong>{name}</strong>
      {kind ? <span class="guest-kind"> {kind}</span> : null}
      {isActive ? <span class="chart-mark"> current state</span> : null}
      {events.map(([event, to]) => (
        <code key={event}>
          {event} → {targetsOf(to).join(", ").slice(0, 200)}
        </code>
      ))}
      {below.length > 0 ? (
        <ul>
          {below.map((each) => (
            <State key={each.path} box={each} active={active} deep={deep + 1} budget={budget} />
          ))}
        </ul>
      ) : null}
    </li>
  );
};

const boxesOf = (definition: JsonObject, path: string, budget: Budget): Box[] => {
  const boxes: Box[] = [];
  for (const [name, state] of Object.entries(objectOf(definition.states))) {
    if (budget.left === 0) break;
    budget.left -= 1;
    boxes.push({ name, path: path === "" ? name : `${path}.${name}`, definition: objectOf(state) });
  }
  return boxes;
};

/** @param state paths of the active states. */
export const GuestChart = ({ definition, state }: { definition: JsonObject; state: string }): VNode => {
  const budget = { left: MAX_STATES };
  const boxes = boxesOf(definition, "", budget);
  if (boxes.length === 0)
    return (
      <p class="live-nothing">This actor has no states. It is a promise, a callback or another actor without a statechart.</p>
    );
  return (
    <ul class="guest-chart" aria-label="States">
      {boxes.map((box) => (
        <State key={box.path} box={box} active={state.split(", ")} deep={1} budget={budget} />
      ))}
    </ul>
  );
};
