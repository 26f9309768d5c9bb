// Shared parts of the operator pages: permission to change, status messages, loading state.
import type { ComponentChildren, VNode } from "preact";
import { me } from "../../components/api.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import type { Query } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";

export const API = "/console/api/operator";

export const mayChange = (): boolean => me.value?.signedIn?.role === "operator";

/** A status message that screen readers announce without moving the focus. */
export const PageMessage = ({ text }: { text: string }): VNode => (
  <p class="said" role="status">
    {text}
  </p>
);

/** Shows a response once it is loaded; errors appear above it. */
export const Awaited = <T,>({ of, children }: { of: Query<T>; children: (value: T) => ComponentChildren }): VNode => (
  <div class="operator">
    {of.fault !== null && (
      <p class="notice is-bad" role="alert">
        {of.fault}{" "}
        <button type="button" class="button" onClick={of.again}>
          {words.actions.tryAgain}
        </button>
      </p>
    )}
    {of.value === undefined ? of.fault === null && <Skeleton lines={6} /> : children(of.value)}
  </div>
);

/** A card with a heading, which may lead to the page with more. */
export const Section = ({ title, href, children }: { title: string; href?: string; children: ComponentChildren }): VNode => (
  <section class="card overview-section">
    <h2>{href === undefined ? title : <a href={href}>{title}</a>}</h2>
    {children}
  </section>
);

/** Names with their values, in as many columns as fit. `isWide`: the value needs a whole row. */
export type Fact = { name: string; value: ComponentChildren; isWide?: boolean };
export const Facts = ({ facts }: { facts: readonly Fact[] }): VNode => (
  <dl class="operator-facts">
    {facts.map(({ name, value, isWide }) => (
      <div key={name} class={isWide ? "is-wide" : undefined}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
