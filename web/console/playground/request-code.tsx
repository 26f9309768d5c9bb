// The request of the playground as code in three languages.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Tabs } from "../../components/tabs.tsx";
import { words } from "../../words/console-words.ts";
import { Copy } from "../generations/copy.tsx";
import { SNIPPETS, type SnippetRequest } from "./snippets.ts";

type Name = (typeof SNIPPETS)[number]["id"];

type Props = { request: SnippetRequest; title?: string; isOpen?: boolean };

export const RequestCode = ({ request, title = words.playground.code, isOpen = false }: Props): VNode => {
  const [name, choose] = useState<Name>("curl");
  const snippet = SNIPPETS.find(({ id }) => id === name) ?? SNIPPETS[0];
  const text = snippet.of(location.origin, request);
  return (
    <details class="request-code" open={isOpen}>
      <summary>{title}</summary>
      <Tabs
        label={words.playground.code}
        tabs={SNIPPETS.map(({ id, says }) => ({ name: id, label: says }))}
        current={name}
        choose={choose}
      >
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
        <section class="snippet" tabIndex={0} aria-label={words.playground.codeIn(snippet.says)}>
          <pre>{text}</pre>
        </section>
        <p class="muted">
          <Copy text={text} says={words.actions.copy} of={snippet.says} /> {words.playground.codeAbout}
        </p>
      </Tabs>
    </details>
  );
};
