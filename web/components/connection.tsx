// Whether the service is reachable, and the banner of every page that says when it is not.
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { words } from "../words/words.ts";

/** True while requests do not reach the service. */
export const isLost = signal(false);
/** Number of times the connection has returned. A page that could not load something loads it again when this changes. */
export const reconnections = signal(0);

const RETRY_MS = 3_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Finds out whether the service is reachable. Any response means that it is. */
export const checkConnection = async (): Promise<void> => {
  clearTimeout(timer);
  try {
    await fetch("/healthz", { cache: "no-store" });
    reached();
  } catch {
    notReached();
  }
};

/** Called after a request that did not reach the service. It is tried again until it does. */
export const notReached = (): void => {
  isLost.value = true;
  clearTimeout(timer);
  timer = setTimeout(() => void checkConnection(), RETRY_MS);
};

/** Called after a response. */
export const reached = (): void => {
  if (!isLost.value) return;
  clearTimeout(timer);
  isLost.value = false;
  reconnections.value += 1;
};

export const ConnectionBanner = (): VNode => {
  useLayoutEffect(() => {
    const offline = () => notReached();
    const online = () => void checkConnection();
    window.addEventListener("offline", offline);
    window.addEventListener("online", online);
    return () => {
      window.removeEventListener("offline", offline);
      window.removeEventListener("online", online);
    };
  }, []);
  return (
    <div class="connection" role="status">
      {isLost.value && (
        <p>
          {words.connection.lost}
          <button type="button" class="button" onClick={() => void checkConnection()}>
            {words.connection.retry}
          </button>
        </p>
      )}
    </div>
  );
};
