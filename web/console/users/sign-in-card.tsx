// The one card of the pages for visitors who are not signed in, below the brand.
import type { ComponentChildren, VNode } from "preact";
import { me } from "../../components/api.ts";
import { Brand } from "../../components/brand.tsx";

export const SignInCard = ({ children }: { children: ComponentChildren }): VNode => (
  <>
    <div class="sign-in-brand">
      <Brand />
    </div>
    <div class="sign-in">{children}</div>
  </>
);

/** A command of this service as a person types it where the service runs. */
export const ShellCommand = ({ args }: { args: string }): VNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
  <pre tabIndex={0}>
    {me.value?.command ?? "genrouter"} {args}
  </pre>
);
