// First steps of a new account: what there is to do, each with its page. They disappear when all are done or when they are hidden.
import { Check, X } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FirstSteps } from "../../src/console/credits-dto.ts";
import { me } from "../components/api.ts";
import { Icon } from "../components/icon.tsx";
import { useQuery } from "../components/use-query.ts";
import { words } from "../words/console-words.ts";

type Step = { name: "generate" | "credits" | "key" | "colleague"; isDone: boolean; href: string };

/** Only those that may invite have a page for it. */
const stepsOf = ({ hasGenerated, hasCredits, hasKey, hasColleague, mayInvite }: FirstSteps): Step[] => [
  { name: "credits", isDone: hasCredits, href: "/console/credits" },
  { name: "generate", isDone: hasGenerated, href: "/console/playground" },
  { name: "key", isDone: hasKey, href: "/console/keys" },
  ...(mayInvite ? [{ name: "colleague", isDone: hasColleague, href: "/console/operator/users" } as const] : []),
];

/** Hidden or done: this browser does not ask again for this user and account. */
const keyOf = (): string => `genrouter.first-steps.${me.value?.signedIn?.email}.${me.value?.signedIn?.accountId}`;
const isOver = (): boolean => {
  try {
    return localStorage.getItem(keyOf()) !== null;
  } catch {
    return false;
  }
};
const end = (): void => {
  try {
    localStorage.setItem(keyOf(), "1");
  } catch {
    // Without local storage they are shown again after the page is loaded.
  }
};

const Entry = ({ step: { name, isDone, href } }: { step: Step }): VNode => {
  const { firstSteps } = words;
  return (
    <li class={isDone ? "is-done" : undefined}>
      <span class="first-mark">{isDone && <Icon of={Check} size={14} />}</span>
      <span>
        {isDone ? <span>{firstSteps[name]}</span> : <a href={href}>{firstSteps[name]}</a>}
        {isDone && <span class="unseen">, {firstSteps.done}</span>}
        <small>{firstSteps[`${name}About`]}</small>
      </span>
    </li>
  );
};

export const FirstStepsCard = (): VNode | null => {
  const { firstSteps } = words;
  const who = me.value?.signedIn;
  const isAsked = who !== undefined && who !== null && who.accountId !== null && who.role !== "viewer";
  const [isGone, setGone] = useState(() => !isAsked || isOver());
  const { value } = useQuery<FirstSteps>(isGone ? null : "/console/api/first-steps");
  if (isGone || !value) return null;
  const steps = stepsOf(value);
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) {
    end();
    return null;
  }
  const hide = () => {
    end();
    setGone(true);
  };
  return (
    <section class="card first-steps" aria-labelledby="first-steps">
      <header>
        <h2 id="first-steps">{firstSteps.title}</h2>
        <span class="muted">{firstSteps.progress(done, steps.length)}</span>
        <span class="grows" />
        <button type="button" class="button is-quiet is-icon is-small" aria-label={firstSteps.dismiss} onClick={hide}>
          <Icon of={X} size={16} />
        </button>
      </header>
      <ol>
        {steps.map((step) => (
          <Entry key={step.name} step={step} />
        ))}
      </ol>
    </section>
  );
};
