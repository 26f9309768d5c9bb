// Choice of a role, each with a sentence about what it may do.
import type { VNode } from "preact";
import type { Role } from "../../../src/console/request-context.ts";
import { words } from "../../words/console-words.ts";

const ROLES: readonly Role[] = ["member", "viewer", "operator"];

/** `hasAccount` false: the user cannot be a member. */
export const RoleChoice = (of: { role: Role; set: (role: Role) => void; hasAccount: boolean }): VNode => (
  <fieldset class="role-choice">
    <legend>{words.users.role}</legend>
    {ROLES.map((role) => (
      <label key={role} class="choice">
        <input
          type="radio"
          name="role"
          checked={of.role === role}
          disabled={role === "member" && !of.hasAccount}
          onChange={() => of.set(role)}
        />
        <span>
          <span class="row-name">{words.roles[role]}</span>
          <span class="muted">{role === "member" && !of.hasAccount ? words.users.needsAccount : words.roles.about[role]}</span>
        </span>
      </label>
    ))}
  </fieldset>
);
