// Input for a seed, with a dice that draws one and a lock that keeps it.
import { Dices, Lock, LockOpen } from "lucide";
import type { VNode } from "preact";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import type { FormField } from "./form.ts";

/** A random seed within the bounds of the field, at most 9 digits so that it can be read aloud. */
export const randomSeed = ({ option }: Pick<FormField, "option">): string => {
  const [least, most] = [option.min ?? 0, Math.min(option.max ?? 999_999_999, 999_999_999)];
  return String(least + Math.floor(Math.random() * (most - least + 1)));
};

export const SeedInput = (of: {
  field: FormField;
  value: string;
  set: (value: string) => void;
  fault: string | null;
  describedBy: string | undefined;
  seedLock: readonly [isLocked: boolean, lock: (isLocked: boolean) => void];
}): VNode => {
  const { field, value, set } = of;
  const [isLocked, lock] = of.seedLock;
  return (
    <div class="input-row">
      <input
        type="number"
        id={`field-${field.name}`}
        name={field.name}
        step={1}
        min={field.option.min}
        max={field.option.max}
        inputMode="numeric"
        value={value}
        aria-invalid={of.fault !== null}
        aria-describedby={of.describedBy}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
      <button
        type="button"
        class="button is-icon"
        aria-label={words.playground.seedDice}
        title={words.playground.seedDice}
        onClick={() => set(randomSeed(field))}
      >
        <Icon of={Dices} />
      </button>
      <button
        type="button"
        class="button is-icon"
        aria-label={words.playground.seedLock}
        title={words.playground.seedLock}
        aria-pressed={isLocked}
        onClick={() => lock(!isLocked)}
      >
        <Icon of={isLocked ? Lock : LockOpen} />
      </button>
    </div>
  );
};
