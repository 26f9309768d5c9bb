// Marks browsers that a user has signed in from by a signed cookie.
//
// Wrong passwords from unknown browsers do not count against a known one.
import { createHmac, randomBytes } from "node:crypto";
import { isSameSecret } from "../http/timing-safe-equal.ts";

const COOKIE = "__Host-genrouter-device";
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";
/** Browsers keep a cookie for 400 days at most; each sign-in renews it. */
const MAX_S = 400 * 86_400;
/** Number of users of one browser; the least recent sign-in is dropped. */
const MAX_USERS = 4;
const MARK = /^(per_[0-9a-z]+)\.([0-9A-Za-z_-]{16})\.([0-9A-Za-z_-]{43})$/;

export type Devices = {
  /** Name of the browser of a request; null if this user has never signed in from it. */
  nameOf(request: Request, userId: string): string | null;
  /** Value of `Set-Cookie` that marks the browser for this user, in addition to its other users. */
  setCookie(request: Request, userId: string): string;
};

/** @param secretHex key of the signatures */
export const createKnownDevices = (secretHex: string): Devices => {
  const proofOf = (userId: string, name: string): string =>
    createHmac("sha256", Buffer.from(secretHex, "hex")).update(`${userId}.${name}`).digest("base64url");
  /** The valid marks of a request, newest first. */
  const marksOf = (request: Request): { userId: string; name: string; mark: string }[] => {
    const sent = (request.headers.get("cookie") ?? "")
      .split(";")
      .map((part) => part.trim())
      .find((part) => part.startsWith(`${COOKIE}=`));
    return (sent?.slice(COOKIE.length + 1) ?? "").split("~", MAX_USERS).flatMap((mark) => {
      const [, userId, name, proof] = MARK.exec(mark) ?? [];
      if (userId === undefined || name === undefined || proof === undefined) return [];
      return isSameSecret(proof, proofOf(userId, name)) ? [{ userId, name, mark }] : [];
    });
  };
  return {
    nameOf: (request, userId) => marksOf(request).find((known) => known.userId === userId)?.name ?? null,
    setCookie: (request, userId) => {
      const known = marksOf(request);
      const name = known.find((one) => one.userId === userId)?.name ?? randomBytes(12).toString("base64url");
      const others = known.filter((one) => one.userId !== userId).map(({ mark }) => mark);
      const marks = [`${userId}.${name}.${proofOf(userId, name)}`, ...others].slice(0, MAX_USERS);
      return `${COOKIE}=${marks.join("~")}; ${ATTRIBUTES}; Max-Age=${MAX_S}`;
    },
  };
};
