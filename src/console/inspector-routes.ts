// The inspector's paths that need somebody who is signed in: a generation to be replayed, and tokens for programs that cannot sign in.
import type { Settings } from "../config.ts";
import type { IssueToken } from "../inspector/inspector.ts";
import { type Asker, replayOf } from "../inspector/replays.ts";
import { audienceOf } from "../inspector/shown.ts";
import type { StoreReads } from "../store/store.ts";
import { type ConsoleAsk, ConsoleRefused, type ConsoleRoute } from "./ask.ts";
import type { SessionDesk } from "./router.ts";

type Parts = {
  settings: Pick<Settings, "inspector" | "limits">;
  reads: StoreReads;
  sessions: Pick<SessionDesk, "cookieOf" | "isStillIn">;
  issueToken: IssueToken | null;
};

export const inspectorRoutes = ({ settings, reads, sessions, issueToken }: Parts): ConsoleRoute[] => {
  /** @throws ConsoleRefused where it is switched off */
  const insistOnInspector = (): IssueToken => {
    if (issueToken) return issueToken;
    throw new ConsoleRefused("not_found", "The inspector is switched off; the operator can set inspector.enabled to on.");
  };
  const askerOf = ({ who }: ConsoleAsk): Asker =>
    who.role === "member"
      ? { onlooker: "member", accountSeq: who.accountSeq }
      : { onlooker: audienceOf(who.role, settings.inspector.prompts) };
  return [
    {
      method: "GET",
      path: "/inspector/api/generations/:id",
      who: "person",
      answer: async (ask) => {
        insistOnInspector();
        return replayOf({ store: reads, collectMs: settings.limits.collect_s * 1000 }, ask.params.id ?? "", askerOf(ask));
      },
    },
    {
      method: "POST",
      path: "/inspector/api/token",
      who: "viewer",
      answer: async ({ request, who: { role } }) => {
        const session = sessions.cookieOf(request) ?? "";
        return insistOnInspector()(role === "operator" ? "operator" : "viewer", () => sessions.isStillIn(session, role));
      },
    },
  ];
};
