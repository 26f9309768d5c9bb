// Status line of the live page: reason of a lost connection and its remedy.
//
// The page reconnects automatically.
import { Pause, Play } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";

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

const SignedOut = (): VNode => (
  <>
    {words.inspector.connection.signedOut} <a href="/console/sign-in">{words.inspector.connection.signIn}</a>
  </>
);

type Props = {
  connection: Connection;
  isPaused: boolean;
  pause: (on: boolean) => void;
  tryNow: () => void;
  /** Further content of this line. */
  children: ComponentChildren;
};

export const ConnectionBar = ({ connection, isPaused, pause, tryNow, children }: Props): VNode => {
  const { connection: text } = words.inspector;
  const trouble = connection !== "live" && connection !== "connecting" ? connection : null;
  const isLive = connection === "live" ? text.live : text.connecting;
  return (
    <div class="live-bar">
      <p role="status" class={`live-connection ${trouble ? "is-lost" : `is-${connection}`}`}>
        {trouble ? (
          <>
            <strong>{text.notConnected}</strong> {trouble === "signedOut" ? <SignedOut /> : text.troubles[trouble]} {text.retries}
          </>
        ) : isPaused ? (
          text.paused
        ) : (
          isLive
        )}
      </p>
      {children}
      {trouble ? (
        <button type="button" class="button is-small" onClick={tryNow}>
          {text.tryNow}
        </button>
      ) : null}
      <button type="button" class="button is-small" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
        <Icon of={isPaused ? Play : Pause} size={16} />
        {isPaused ? text.resume : text.pause}
      </button>
    </div>
  );
};
