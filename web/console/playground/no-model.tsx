// What the playground and the models show before the first provider key is set, and while every route is off or down.
import type { VNode } from "preact";
import { Link } from "wouter-preact";
import { me } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";

export const NoModel = (): VNode => (
  <div class="empty">
    <p>{words.model.none}</p>
    {me.value?.signedIn?.role !== "member" && (
      <p>
        {words.model.noneForOperator} <Link href="/console/operator/providers">{words.pages.providers}</Link>{" "}
        <Link href="/console/operator/routes">{words.pages.routes}</Link>
      </p>
    )}
  </div>
);
