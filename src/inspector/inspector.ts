// The inspector as the rest of the harness sees it: two paths that take sockets and the way to a token; what is behind is loaded by the first viewer.

import type { Admit } from "../http/websocket-upgrade.ts";
import type { AdminMutation, AdminResult, Principal } from "../store/mutations.ts";
import { type AccessDeps, createAccess, type IsAtHome, type IsStillIn, isEnabled, type Role } from "./access.ts";
import type { Hub, HubDeps } from "./hub.ts";

export type InspectorDeps = Omit<HubDeps, "prompts"> &
  AccessDeps & {
    /** Tells the audit log of each token that is made. */
    post: (mutation: AdminMutation) => Promise<AdminResult>;
  };

/** A token is good for connecting until its time is over, in the role of whoever asked for it. @param by who that is, for the audit log */
export type IssueToken = (role: Role, by: Principal, isStillIn?: IsStillIn) => { token: string; expiresAtMs: number };

export type Inspector = {
  sockets: readonly { path: string; admit: Admit }[];
  /** Makes a token for a program that cannot sign in; null where the inspector is switched off. */
  issueToken: IssueToken | null;
  /** Whether a request looks on as an operator without being signed in: from this machine, with the simulator. */
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
    // Nobody waits for it: the token is good also while the store is away.
    void deps.post({ mutation: "note-inspector-token", role, by, atMs: deps.nowMs() }).catch(() => undefined);
    return pass.issue(role, isStillIn);
  };
  return {
    sockets: [
      // The frames of the open protocol, both ways.
      {
        path: "/inspector/ws",
        admit: async (request, peer) => {
          const admitted = await pass.admit(request, peer);
          return (await loaded()).open(admitted);
        },
      },
      // The live page's own.
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
