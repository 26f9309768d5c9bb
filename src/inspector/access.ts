// Who may look on: operators and viewers by their session, programs by a short-lived token, and this machine alone with the simulator.
import { randomBytes } from "node:crypto";
import type { Settings } from "../config/schema.ts";
import { refuse } from "../domain/api-errors.ts";
import { isForwarded, isLoopback, isOwnName, urlOf } from "../http/client-address.ts";

export type Role = "operator" | "viewer";
export type IsStillIn = () => Promise<boolean>;
/** Somebody who may look on, for as long as `isStillIn`: whoever signs out, or loses the role, does not go on looking. */
export type Admitted = { role: Role; isStillIn: IsStillIn };
export type AccessDeps = {
  settings: Pick<Settings, "inspector"> & { server: Pick<Settings["server"], "public_url"> };
  /** Whether the service runs with the simulator. */
  simulated: boolean;
  nowMs: () => number;
  /** Whoever is signed in, and whether they still are, in the same role; null for nobody. A member has no business here. */
  signedIn: (request: Request) => Promise<{ role: Role | "member"; isStillIn: IsStillIn } | null>;
};

/** Long enough to start a program with it; what is connected by then stays for as long as whoever asked for it is in. */
const TOKEN_MS = 15 * 60_000;
const MOST_TOKENS = 1_000;

/** What is asked for on this machine's own command line, or comes from it with the simulator. */
const forGood: IsStillIn = () => Promise.resolve(true);

export const isEnabled = ({ enabled }: Settings["inspector"], simulated: boolean): boolean =>
  enabled === "auto" ? simulated : enabled === "on";

const hashOf = (token: string): string => new Bun.CryptoHasher("sha256").update(token).digest("hex");

/** Whether a browser says that the page it runs is of the very address that it asks. `Host` is as good as a name: cookies go by it. */
const isSameOrigin = (origin: string, host: string | null): boolean =>
  host !== null && (origin === `http://${host}` || origin === `https://${host}`);

/** Whether a request is let in without a name. @param peer the address of its socket */
export type IsAtHome = (request: Request, peer: string | undefined) => boolean;

export const createAccess = ({ settings, simulated, nowMs, signedIn }: AccessDeps) => {
  const { public_url: publicUrl } = settings.server;
  /** A proxy may ask for another Host than the one in the browser's address, which `server.public_url` says. */
  const publicOrigin = publicUrl === "" ? null : new URL(publicUrl).origin;
  /** By their hash; the tokens themselves are nowhere. */
  const tokens = new Map<string, Admitted & { untilMs: number }>();

  const byToken = async (token: string): Promise<Admitted> => {
    const known = tokens.get(hashOf(token));
    if (known === undefined || nowMs() >= known.untilMs || !(await known.isStillIn()))
      return refuse("unauthorized", "token: it is not known, or its time is over; get a new one with genrouter inspector token.");
    return known;
  };
  /** A program of this machine, or our own page in a browser on it; with the simulator there is nothing to protect but the demo. */
  const isAtHome: IsAtHome = (request, peer) => {
    const origin = request.headers.get("origin");
    if (!simulated || publicUrl !== "" || peer === undefined || !isLoopback(peer) || isForwarded(request)) return false;
    const host = request.headers.get("host");
    return origin === null ? isOwnName(host) : isOwnName(host) && isSameOrigin(origin, host);
  };

  return {
    isAtHome,
    /** A new token. Its role is that of whoever asked for it, and it opens nothing once they are out. */
    issue: (role: Role, isStillIn: IsStillIn = forGood): { token: string; expiresAtMs: number } => {
      const token = `gri_${randomBytes(24).toString("base64url")}`;
      const untilMs = nowMs() + TOKEN_MS;
      for (const [hash, known] of tokens) if (tokens.size >= MOST_TOKENS || nowMs() >= known.untilMs) tokens.delete(hash);
      tokens.set(hashOf(token), { role, isStillIn, untilMs });
      return { token, expiresAtMs: untilMs };
    },
    /**
     * The role in which somebody may look on, and whether that still holds. A web page of another address is let in by a token alone.
     * @throws Refusal
     */
    admit: async (request: Request, peer: string | undefined): Promise<Admitted> => {
      if (!isEnabled(settings.inspector, simulated))
        return refuse("not_found", "The inspector is switched off; the operator can set inspector.enabled to on.");
      const token = urlOf(request).searchParams.get("token");
      if (token !== null) return byToken(token);
      const origin = request.headers.get("origin");
      // A socket is opened by a browser with the cookies of this address, whatever page asks: its word on the page is what counts.
      if (origin !== null && origin !== publicOrigin && !isSameOrigin(origin, request.headers.get("host")))
        return refuse("unauthorized", "Origin: pages of another address need a token: add ?token= to the address.", {
          status: 403,
        });
      const who = await signedIn(request);
      if (who?.role === "member")
        return refuse("unauthorized", "The inspector is for operators and viewers; ask an operator for the role.", {
          status: 403,
        });
      if (who !== null) return { role: who.role, isStillIn: who.isStillIn };
      if (isAtHome(request, peer)) return { role: "operator", isStillIn: forGood };
      return refuse("unauthorized", "Sign in at /console, or add ?token= with one from genrouter inspector token.");
    },
  };
};
