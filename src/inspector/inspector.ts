// Entry point of the inspector: two WebSocket endpoints and token creation.
//
// The modules behind it are loaded by the first viewer.

import type { AdminMutation, AdminResult, Principal } from "../domain/mutations.ts";
import type { Admit } from "../http/websocket-upgrade.ts";
import { type AccessDeps, createAccess, type IsAtHome, type IsSessionValid, isEnabled, type Role } from "./access.ts";
import type { Hub, HubDeps } from "./hub.ts";

export type InspectorDeps = Omit<HubDeps, "prompts"> &
  AccessDeps & {
    /** Records each created token in the audit log. */
    post: (mutation: AdminMutation) => Promise<AdminResult>;
  };

/** Creates a token for connecting until it expires, with the role of its requester. @param by the requester, for the audit log */
export type IssueToken = (role: Role, by: Principal, isStillIn?: IsSessionValid) => { token: string; expiresAtMs: number };

export type Inspector = {
  sockets: readonly { path: string; admit: Admit }[];
  /** Creates a token for a program that cannot sign in; null if the inspector is off. */
  issueToken: IssueToken | null;
  /** True if a request is admitted as operator without authentication: from localhost, with the simulator. */
  isAtHome: IsAtHome;
  stop: () => void;
};

export const createInspector = (deps: InspectorDeps): Inspector => {
  const pass = createAccess(deps);
  let hub: Promise<Hub> | null = null;
  let opened: Hub | null = null;
  const loaded = (): Promise<Hub> => {
    hub ??= import("./hub.ts").then(({ createHub }) => {
      opened = createHub({ ...deps, prompts: deps.settings.inspector.prompts });
      return opened;
    });
    return hub;
  };
  const issueToken: IssueToken = (role, by, isStillIn) => {
    // Not awaited, because the token is valid even if the store is unavailable.
    void deps.post({ mutation: "note-inspector-token", role, by, atMs: deps.nowMs() }).catch(() => undefined);
    return pass.issue(role, isStillIn);
  };
  return {
    sockets: [
      // Frames of the open protocol, in both directions.
      {
        path: "/inspector/ws",
        admit: async (request, peer) => {
          const admitted = await pass.admit(request, peer);
          return (await loaded()).open(admitted);
        },
      },
      // Messages of the live page.
      {
        path: "/inspector/api/live",
        admit: async (request, peer) => {
          const admitted = await pass.admit(request, peer);
          return (await loaded()).page(admitted);
        },
      },
    ],
    issueToken: isEnabled(deps.settings.inspector, deps.simulated) ? issueToken : null,
    isAtHome: pass.isAtHome,
    stop: () => opened?.stop(),
  };
};
