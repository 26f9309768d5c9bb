// What the operator's pages have in common: who may change, what was done told politely, and an answer that is awaited.
import type { ComponentChildren, VNode } from "preact";
import { me } from "../../components/api.ts";
import type { Query } from "../../components/use-query.ts";

export const API = "/console/api/operator";

export const mayChange = (): boolean => me.value?.signedIn?.role === "operator";

/** Told to whoever hears the page, without taking the focus. */
export const PageMessage = ({ text }: { text: string }): VNode => (
  <p class="said" role="status">
    {text}
  </p>
);

/** Shows an answer once it is there; what went wrong meanwhile stands above it. */
export const Awaited = <T,>({ of, children }: { of: Query<T>; children: (value: T) => ComponentChildren }): VNode => (
  <div class="operator" aria-busy={of.isBusy && of.value === undefined}>
    {of.fault !== null && (
      <p class="notice is-bad" role="alert">
        {of.fault}{" "}
        <button type="button" class="button" onClick={of.again}>
          Try again
        </button>
      </p>
    )}
    {of.value === undefined ? of.fault === null && <p>Reading…</p> : children(of.value)}
  </div>
);
