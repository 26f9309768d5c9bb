// What users who may only read see: the reason once, and disabled actions that name it.
import type { VNode } from "preact";
import { words } from "../words/console-words.ts";
import { me } from "./api.ts";

/** Id of the note. */
export const READ_ONLY = "read-only";

/** The reason why the actions of a page are disabled. */
export const ReadOnlyNote = (): VNode => (
  <p id={READ_ONLY} class="notice read-only">
    {me.value?.signedIn?.role === "viewer" ? words.readOnly.viewer : words.readOnly.other}
  </p>
);

/** Attributes of an action that is disabled if the user may only read. */
export const lockUnless = (mayChange: boolean): { disabled: boolean; "aria-describedby"?: string } =>
  mayChange ? { disabled: false } : { disabled: true, "aria-describedby": READ_ONLY };
