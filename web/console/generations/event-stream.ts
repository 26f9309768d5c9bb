// Shared event stream of a tab: one connection for all subscribers, reconnected automatically.
//
// After a reconnection the subscribers reload their data, because events may have been missed.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BalanceUpdate, GenerationUpdate, PurchaseUpdate } from "../../../src/console/generations-dto.ts";
import { learnMe, me } from "../../components/api.ts";
import { checkConnection } from "../../components/connection.tsx";

export type Listening = {
  generation?: (news: GenerationUpdate) => void;
  balance?: (news: BalanceUpdate) => void;
  purchase?: (news: PurchaseUpdate) => void;
  /** Called when events may have been missed. */
  again?: () => void;
};

/** True if changes are received from now on. A page that follows events loads its data once when this becomes true. */
export const isListening = signal(false);
/** A page is shown after this delay even without a connection, and reloaded once the connection is open. */
const PATIENCE_MS = 500;

/** Delay of a reconnection, ms. A browser gives up on a rejected connection, for example during a restart of the service. */
const AGAIN_MS = 2000;

/** Account of the generations; null: the user's own; undefined: any, because every stream contains the user's own balance. */
type Whose = string | null | undefined;
type Listener = { whose: Whose; latest: { current: Listening } };

const listeners = new Set<Listener>();
let stream: { whose: string | null; source: EventSource } | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

const report = (to: (listening: Listening) => void): void => {
  for (const { latest } of [...listeners]) to(latest.current);
};
const read = <T>(event: Event): T => JSON.parse((event as MessageEvent<string>).data) as T;

const end = (): void => {
  clearTimeout(timer);
  stream?.source.close();
  stream = undefined;
};
const begin = (whose: string | null): void => {
  if (!isListening.value)
    setTimeout(() => {
      isListening.value = true;
    }, PATIENCE_MS);
  const source = new EventSource(`/console/api/events${whose === null ? "" : `?account=${encodeURIComponent(whose)}`}`);
  stream = { whose, source };
  source.onopen = () => {
    // Changes between the page's read and the opening of the stream would otherwise be missed.
    if (isListening.value) report(({ again }) => again?.());
    isListening.value = true;
  };
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) {
      // The browser connects again by itself. If it cannot, the page says that the service is unreachable.
      void checkConnection();
      return;
    }
    // Detects a user who was signed out, and shows the sign-in page.
    learnMe().catch(() => undefined);
    timer = setTimeout(() => begin(whose), AGAIN_MS);
  };
  source.addEventListener("generation", (event) => report(({ generation }) => generation?.(read(event))));
  source.addEventListener("balance", (event) => report(({ balance }) => balance?.(read(event))));
  source.addEventListener("purchase", (event) => report(({ purchase }) => purchase?.(read(event))));
  source.addEventListener("again", () => report(({ again }) => again?.()));
};

/**
 * Opens, closes or changes the connection for the current subscribers. A hidden tab has none, because browsers limit the
 * connections per host.
 */
const settle = (): void => {
  if (listeners.size === 0 || document.hidden) {
    end();
    return;
  }
  const named = [...listeners].findLast(({ whose }) => whose !== undefined)?.whose;
  const wanted = named === undefined ? (stream?.whose ?? null) : named;
  if (stream?.whose === wanted) return;
  end();
  begin(wanted);
};
document.addEventListener("visibilitychange", settle);

/**
 * Subscribes while the component is mounted. @param account account of the events, for operators; otherwise the user's own @param
 * isOn false disables the subscription
 */
export const useEvents = (account: Whose, listening: Listening, isOn = true): void => {
  const latest = useRef(listening);
  latest.current = listening;
  const whose = account !== undefined && account === me.value?.signedIn?.accountId ? null : account;
  useEffect(() => {
    if (!isOn) return;
    const listener = { whose, latest };
    listeners.add(listener);
    settle();
    return () => {
      listeners.delete(listener);
      settle();
    };
  }, [whose, isOn]);
};
