// Controls access to the inspector: session, short-lived token, or localhost with the simulator.
//
// Sessions admit operators and viewers; tokens are for programs.
import { randomBytes } from "node:crypto";
import type { Settings } from "../config/schema.ts";
import { refuse } from "../domain/api-errors.ts";
import { isForwarded, isLoopback, isOwnName, urlOf } from "../http/client-address.ts";

export type Role = "operator" | "viewer";
export type IsSessionValid = () => Promise<boolean>;
/** An admitted viewer. `isStillIn` becomes false when the user signs out or loses the role, and then the access ends. */
export type Admitted = { role: Role; isStillIn: IsSessionValid };
export type AccessDeps = {
  settings: Pick<Settings, "inspector"> & { server: Pick<Settings["server"], "public_url"> };
  /** True if the service runs with the simulator. */
  simulated: boolean;
  nowMs: () => number;
  /**
   * The signed-in user's role and a check whether the session and the role still hold; null without a session. A member is not
   * admitted.
   */
  signedIn: (request: Request) => Promise<{ role: Role | "member"; isStillIn: IsSessionValid } | null>;
};

/**
 * Long enough to start a program with the token. A connection remains open as long as the user who requested the token is signed
 * in.
 */
const TOKEN_MS = 15 * 60_000;
const MAX_TOKENS = 1_000;

/** For tokens of this machine's command line and for localhost with the simulator. */
const forGood: IsSessionValid = () => Promise.resolve(true);

export const isEnabled = ({ enabled }: Settings["inspector"], simulated: boolean): boolean =>
  enabled === "auto" ? simulated : enabled === "on";

const hashOf = (token: string): string => new Bun.CryptoHasher("sha256").update(token).digest("hex");

/**
 * True if the browser reports that its page has the origin of the request. `Host` is reliable here, because cookies are bound to
 * it.
 */
const isSameOrigin = (origin: string, host: string | null): boolean =>
  host !== null && (origin === `http://${host}` || origin === `https://${host}`);

/** True if a request is admitted without authentication. @param peer address of its socket */
export type IsAtHome = (request: Request, peer: string | undefined) => boolean;

export const createAccess = ({ settings, simulated, nowMs, signedIn }: AccessDeps) => {
  const { public_url: publicUrl } = settings.server;
  /** A proxy may replace the Host of the browser's URL; `server.public_url` contains the original one. */
  const publicOrigin = publicUrl === "" ? null : new URL(publicUrl).origin;
  /** By hash; the tokens themselves are not stored. */
  const tokens = new Map<string, Admitted & { untilMs: number }>();

  const byToken = async (token: string): Promise<Admitted> => {
    const known = tokens.get(hashOf(token));
    if (known === undefined || nowMs() >= known.untilMs || !(await known.isStillIn()))
      return refuse("unauthorized", "token: is unknown or expired; create a new token with genrouter inspector token.");
    return known;
  };
  /** A program on this machine, or a page of this service in a browser on it. With the simulator, only the demo is accessible. */
  const isAtHome: IsAtHome = (request, peer) => {
    const origin = request.headers.get("origin");
    if (!simulated || publicUrl !== "" || peer === undefined || !isLoopback(peer) || isForwarded(request)) return false;
    const host = request.headers.get("host");
    return origin === null ? isOwnName(host) : isOwnName(host) && isSameOrigin(origin, host);
  };

  return {
    isAtHome,
    /** Creates a token with the role of its requester. It becomes invalid when the requester's session ends. */
    issue: (role: Role, isStillIn: IsSessionValid = forGood): { token: string; expiresAtMs: number } => {
      const token = `gri_${randomBytes(24).toString("base64url")}`;
      const untilMs = nowMs() + TOKEN_MS;
      for (const [hash, known] of tokens) if (tokens.size >= MAX_TOKENS || nowMs() >= known.untilMs) tokens.delete(hash);
      tokens.set(hashOf(token), { role, isStillIn, untilMs });
      return { token, expiresAtMs: untilMs };
    },
    /**
     * Admits a request and returns its role and a check of its validity. A web page of another origin is admitted by a token
     * only.
     * @throws ApiError
     */
    admit: async (request: Request, peer: string | undefined): Promise<Admitted> => {
      if (!isEnabled(settings.inspector, simulated))
        return refuse("not_found", "The inspector is disabled; an operator can set inspector.enabled to on.");
      const token = urlOf(request).searchParams.get("token");
      if (token !== null) return byToken(token);
      const origin = request.headers.get("origin");
      // A browser sends the cookies of this host with a WebSocket from any page, so the Origin header decides.
      if (origin !== null && origin !== publicOrigin && !isSameOrigin(origin, request.headers.get("host")))
        return refuse("unauthorized", "Origin: a page of another origin needs a token; add ?token= to the address.", {
          status: 403,
        });
      const who = await signedIn(request);
      if (who?.role === "member")
        return refuse("unauthorized", "The inspector requires the role operator or viewer; request the role from an operator.", {
          status: 403,
        });
      if (who !== null) return { role: who.role, isStillIn: who.isStillIn };
      if (isAtHome(request, peer)) return { role: "operator", isStillIn: forGood };
      return refuse("unauthorized", "Sign in at /console, or add ?token= with a token from genrouter inspector token.");
    },
  };
};
