// Shared parts of the operator pages: permission to change, status messages, loading state.
import type { ComponentChildren, VNode } from "preact";
import { me } from "../../components/api.ts";
import type { Query } from "../../components/use-query.ts";

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
