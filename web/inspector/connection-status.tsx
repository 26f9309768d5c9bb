// Why the live page is not connected, what to do about it, and that it goes on trying by itself.
import type { ComponentChildren, VNode } from "preact";

/** `shut`: the service would let the page in, and the connection does not come about all the same. */
export type Trouble = "lost" | "signedOut" | "notAllowed" | "switchedOff" | "full" | "unreachable" | "shut";
export type Connection = "connecting" | "live" | Trouble;

/** "Try again later": too many look on. */
const FULL = 1013;
/** What the path says to a request that asks for no socket, once it has let it in. */
const UPGRADE_REQUIRED = 426;
const BY_STATUS: Readonly<Record<number, Trouble>> = { 401: "signedOut", 403: "notAllowed", 404: "switchedOff" };

/**
 * Finds out why there is no connection: a browser does not tell a page with which words a socket was turned away, so the path is asked once
 * more without one.
 * @param code that the socket was closed with. @param wasOpen whether it had been open
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
      You are not signed in, or the session is over: <a href="/console/sign-in">sign in</a> as an operator or a viewer, in another
      tab if you like.
    </>
  ),
  notAllowed: "The inspector is for operators and viewers: ask an operator for the role, or sign in as somebody who has it.",
  switchedOff:
    "The inspector is switched off: its operator can set inspector.enabled to on in the settings, and start the service again.",
  full: "Too many pages and programs look on already: close some of them.",
  unreachable: "The service cannot be reached: it may be starting, or have stopped. Look whether it runs.",
  shut: "The service answers, but no WebSocket comes through: a proxy in between has to pass on the upgrade of /inspector/api/live.",
};

type Props = {
  connection: Connection;
  isPaused: boolean;
  pause: (on: boolean) => void;
  tryNow: () => void;
  /** What else is told in this line. */
  children: ComponentChildren;
};

export const ConnectionBar = ({ connection, isPaused, pause, tryNow, children }: Props): VNode => {
  const isTrouble = connection !== "live" && connection !== "connecting";
  return (
    <div class="live-bar">
      <p role="status" class={`live-connection ${isTrouble ? "is-lost" : `is-${connection}`}`}>
        {isTrouble ? (
          <>
            <strong>Not connected.</strong> {SAID[connection]} This page tries again by itself, every ten seconds at the least.
          </>
        ) : isPaused ? (
          "Paused: nothing on this page changes."
        ) : connection === "live" ? (
          "Connected: what happens is shown as it happens."
        ) : (
          "Connecting …"
        )}
      </p>
      {children}
      {isTrouble ? (
        <button type="button" onClick={tryNow}>
          Try now
        </button>
      ) : null}
      <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
        {isPaused ? "Go on" : "Pause"}
      </button>
    </div>
  );
};
