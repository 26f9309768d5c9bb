// The inspector as the rest of the house sees it: two paths that take sockets and the way to a token; what is behind is loaded by the first viewer.
import type { Admit } from "../http/sockets.ts";
import type { Hub, HubParts } from "./hub.ts";
import { type IsAtHome, type IsStillIn, isEnabled, openPass, type PassParts, type Role } from "./pass.ts";

export type InspectorParts = Omit<HubParts, "prompts"> & PassParts;

/** A token is good for connecting until its time is over, in the role of whoever asked for it. */
export type IssueToken = (role: Role, isStillIn?: IsStillIn) => { token: string; expiresAtMs: number };

export type Inspector = {
  sockets: readonly { path: string; admit: Admit }[];
  /** Makes a token for a program that cannot sign in; null where the inspector is switched off. */
  issueToken: IssueToken | null;
  /** Whether a request looks on as an operator without being signed in: from this machine, with the simulator. */
  isAtHome: IsAtHome;
  stop: () => void;
};

export const openInspector = (parts: InspectorParts): Inspector => {
  const pass = openPass(parts);
  let hub: Promise<Hub> | null = null;
  let opened: Hub | null = null;
  const loaded = (): Promise<Hub> => {
    hub ??= import("./hub.ts").then(({ openHub }) => {
      opened = openHub({ ...parts, prompts: parts.settings.inspector.prompts });
      return opened;
    });
    return hub;
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
    issueToken: isEnabled(parts.settings.inspector, parts.simulated) ? pass.issue : null,
    isAtHome: pass.isAtHome,
    stop: () => opened?.stop(),
  };
};
