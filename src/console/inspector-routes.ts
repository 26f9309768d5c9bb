// HTTP endpoints of the inspector: replay of a generation, and tokens for external programs.
import type { Settings } from "../config/schema.ts";
import type { IsAtHome } from "../inspector/access.ts";
import { audienceOf } from "../inspector/field-allowlist.ts";
import type { IssueToken } from "../inspector/inspector.ts";
import { type Asker, replayOf } from "../inspector/replay-api.ts";
import type { StoreReads } from "../store/store.ts";
import type { AccessAudit } from "./access-audit.ts";
import { actorOf, ConsoleRefused, type ConsoleRoute, type PublicRequest } from "./request-context.ts";
import type { SessionService } from "./router.ts";

type Parts = {
  settings: Pick<Settings, "inspector" | "limits">;
  reads: StoreReads;
  sessions: Pick<SessionService, "cookieOf" | "isStillIn">;
  issueToken: IssueToken | null;
  isAtHome: IsAtHome;
  accessAudit: AccessAudit;
};

const REPLAY = { method: "GET", path: "/inspector/api/generations/:id" } as const;
const TOKEN = { method: "POST", path: "/inspector/api/token" } as const;

/** Answers every request alike, signed in or not, because signing in would not help. The sockets behave the same. */
const switchedOff = async (): Promise<never> => {
  throw new ConsoleRefused("not_found", "The inspector is disabled; an operator can set inspector.enabled to on.");
};

export const inspectorRoutes = ({ settings, reads, sessions, issueToken, isAtHome, accessAudit }: Parts): ConsoleRoute[] => {
  if (issueToken === null) return [REPLAY, TOKEN].map((path) => ({ ...path, who: "anyone", answer: switchedOff }));
  const { prompts } = settings.inspector;
  /**
   * A program that may open the live view without a session may also replay, in the same role. @throws ConsoleRefused otherwise
   */
  const askerOf = ({ who, request, peer }: PublicRequest): Asker => {
    if (who?.role === "member") return { onlooker: "member", accountSeq: who.accountSeq };
    if (who !== null) return { onlooker: audienceOf(who.role, prompts) };
    if (isAtHome(request, peer)) return { onlooker: audienceOf("operator", prompts) };
    throw new ConsoleRefused("signed_out", "You are signed out; sign in again.");
  };
  return [
    {
      ...REPLAY,
      who: "anyone",
      answer: async (request) => {
        const id = request.params.id ?? "";
        const replay = await replayOf(
          { store: reads, collectMs: settings.limits.result_download_timeout_s * 1000 },
          id,
          askerOf(request),
        );
        const accountId = (await reads.findGeneration(id))?.accountId ?? null;
        if (request.who !== null) accessAudit.note(request.who, { what: "replay", of: id, accountId });
        return replay;
      },
    },
    {
      ...TOKEN,
      who: "viewer",
      answer: async ({ request, who }) => {
        const session = sessions.cookieOf(request) ?? "";
        const role = who.role === "operator" ? "operator" : "viewer";
        return issueToken(role, actorOf({ who }), () => sessions.isStillIn(session, who.role));
      },
    },
  ];
};
