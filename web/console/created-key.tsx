// Dialog after a key was created: the key, shown once, and a command that uses it.
import type { VNode } from "preact";
import type { ModelDto, ModelsDto } from "../../src/console/generations-dto.ts";
import type { CreatedKeyDto, KeyView } from "../../src/console/keys-dto.ts";
import { timeText } from "../components/format.ts";
import { SecretDialog } from "../components/secret-dialog.tsx";
import { useQuery } from "../components/use-query.ts";
import { words } from "../words/console-words.ts";
import { Copy } from "./generations/copy.tsx";
import { commandOf } from "./key-command.ts";

/** A created key with the terms that its command must keep. */
export type MadeKey = CreatedKeyDto & Pick<KeyView, "scope" | "models">;

const TryIt = ({ made, models }: { made: MadeKey; models: readonly ModelDto[] }): VNode => {
  const { text, spends } = commandOf({ origin: location.origin, ...made }, models);
  return (
    <section class="try-key" aria-labelledby="try-key">
      <h3 id="try-key">{words.keys.tryIt}</h3>
      <p class="muted">{spends ? words.keys.tryCost : words.keys.tryAbout}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
      <p class="actions">
        <Copy text={text} says={words.actions.copy} of={words.keys.command} />
        <a class="button" href="/docs/guides/quick-start" target="_blank" rel="noreferrer">
          {words.keys.quickStart}
        </a>
      </p>
    </section>
  );
};

export const CreatedKeyDialog = (of: { made: MadeKey; from: KeyView | null; close: () => void }): VNode => {
  const { made, from, close } = of;
  const { value, fault } = useQuery<ModelsDto>("/console/api/models");
  return (
    <SecretDialog
      title={words.keys.made}
      about={words.keys.madeAbout}
      label={words.keys.madeLabel}
      secret={made.key}
      close={close}
    >
      {from !== null && made.fromExpiresAtMs !== null && <p>{words.keys.oldUntil(from.start, timeText(made.fromExpiresAtMs))}</p>}
      {(value !== undefined || fault !== null) && <TryIt made={made} models={value?.models ?? []} />}
    </SecretDialog>
  );
};
