// Field of an endpoint: the events that it receives.
import type { VNode } from "preact";
import { WEBHOOK_EVENTS } from "../../../src/domain/webhooks.ts";
import { RequiredMark } from "../../components/field.tsx";
import { words } from "../../words/console-words.ts";

type Props = { events: readonly string[]; set: (events: string[]) => void; fault: string | undefined };

export const EventChoice = ({ events, set, fault }: Props): VNode => {
  const isAll = events.includes("*");
  const flip = (name: string) => set(events.includes(name) ? events.filter((one) => one !== name) : [...events, name]);
  return (
    <fieldset class="field">
      <legend>
        {words.webhooks.events} <RequiredMark />
      </legend>
      <label class="choice">
        <input
          type="checkbox"
          checked={isAll}
          aria-invalid={fault !== undefined}
          onChange={() => set(isAll ? [...WEBHOOK_EVENTS] : ["*"])}
        />
        {words.webhooks.eventsAll}
      </label>
      {WEBHOOK_EVENTS.map((name) => (
        <label key={name} class="choice">
          <input type="checkbox" disabled={isAll} checked={isAll || events.includes(name)} onChange={() => flip(name)} />
          <code>{name}</code>
        </label>
      ))}
      {fault !== undefined && (
        <span class="field-fault" role="alert">
          {fault}
        </span>
      )}
    </fieldset>
  );
};
