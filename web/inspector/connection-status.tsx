// Status line of the live page: reason of a lost connection and its remedy.
//
// The page reconnects automatically.
import type { ComponentChildren, VNode } from "preact";

/** `shut`: the service admits the page, but the connection fails nevertheless. */
export type Trouble = "lost" | "signedOut" | "notAllowed" | "switchedOff" | "full" | "unreachable" | "shut";
export type Connection = "connecting" | "live" | Trouble;

/** "Try again later": too many viewers are connected. */
const FULL = 1013;
/** Status of the path for an admitted request without an upgrade. */
const UPGRADE_REQUIRED = 426;
const BY_STATUS: Readonly<Record<number, Trouble>> = { 401: "signedOut", 403: "notAllowed", 404: "switchedOff" };

/**
 * Determines why there is no connection. A browser does not expose the response that rejected a WebSocket, so the path is
 * requested again without an upgrade.
 * @param code close code of the socket. @param wasOpen true if the socket had been open
 */
export const troubleOf = async (socketUrl: string, code: number, wasOpen: boolean): Promise<Trouble> => {
  if (code === FULL) return "full";
  const answer = await fetch(new URL(socketUrl).pathname, { cache: "no-store" }).catch(() => null);
  if (answer === null || answer.status >= 500) return "unreachable";
  if (answer.status === UPGRADE_REQUIRED && !wasOpen) return "shut";
  return BY_STATUS[answer.status] ?? "lost";
};

const SAID: Readonly<Record<Trouble, ComponentChildren>> = {
  lost: "The connection was lost.",
  signedOut: (
    <>
      You are not signed in, or the session has expired. <a href="/console/sign-in">Sign in</a> as an operator or a viewer.
    </>
  ),
  notAllowed:
    "The inspector requires the role operator or viewer. Request the role from an operator, or sign in as another user.",
  switchedOff: "The inspector is disabled. An operator can set inspector.enabled to on and restart the service.",
  full: "Too many pages and programs are connected. Close some of them.",
  unreachable: "The service is unreachable. Check whether it is running.",
  shut: "The service responds, but the WebSocket connection fails. A proxy in between must forward the upgrade of /inspector/api/live.",
};

type Props = {
  connection: Connection;
  isPaused: boolean;
  pause: (on: boolean) => void;
  tryNow: () => void;
  /** Further content of this line. */
  children: ComponentChildren;
};

export const ConnectionBar = ({ connection, isPaused, pause, tryNow, children }: Props): VNode => {
  const isTrouble = connection !== "live" && connection !== "connecting";
  return (
    <div class="live-bar">
      <p role="status" class={`live-connection ${isTrouble ? "is-lost" : `is-${connection}`}`}>
        {isTrouble ? (
          <>
            <strong>Not connected.</strong> {SAID[connection]} This page reconnects automatically, at least every 10 s.
          </>
        ) : isPaused ? (
          "Paused. This page does not change."
        ) : connection === "live" ? (
          "Connected. Events appear immediately."
        ) : (
          "Connecting …"
        )}
      </p>
      {children}
      {isTrouble ? (
        <button type="button" onClick={tryNow}>
          Reconnect now
        </button>
      ) : null}
      <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
        {isPaused ? "Resume" : "Pause"}
      </button>
    </div>
  );
};
