// News of generations and balances as they are committed: one connection of a tab for all that listen on it, made again by itself, and what was missed meanwhile is read anew.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BalanceUpdate, GenerationUpdate, PurchaseUpdate } from "../../../src/console/generations-dto.ts";
import { learnMe, me } from "../../components/api.ts";

export type Listening = {
  generation?: (news: GenerationUpdate) => void;
  balance?: (news: BalanceUpdate) => void;
  purchase?: (news: PurchaseUpdate) => void;
  /** Something may have been missed. */
  again?: () => void;
};

/** Whether what changes from now on is told here. A page that is kept up to date by news reads itself once when this becomes true. */
export const isListening = signal(false);
/** A page is shown after so long all the same; it is read once more when the connection is there. */
const PATIENCE_MS = 500;

/** A browser gives up on a connection that is refused (a service that starts anew): it is made again after so long. */
const AGAIN_MS = 2000;

/** Whose generations; null: one's own; undefined: whichever, as the balance of one's own is told with all of them. */
type Whose = string | null | undefined;
type Listener = { whose: Whose; latest: { current: Listening } };

const listeners = new Set<Listener>();
let stream: { whose: string | null; source: EventSource } | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

const tell = (to: (listening: Listening) => void): void => {
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
    // What changed after a page was read and before this was open would never be told.
    if (isListening.value) tell(({ again }) => again?.());
    isListening.value = true;
  };
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return;
    // Whoever is signed out finds out here, and is asked to sign in.
    learnMe().catch(() => undefined);
    timer = setTimeout(() => begin(whose), AGAIN_MS);
  };
  source.addEventListener("generation", (event) => tell(({ generation }) => generation?.(read(event))));
  source.addEventListener("balance", (event) => tell(({ balance }) => balance?.(read(event))));
  source.addEventListener("purchase", (event) => tell(({ purchase }) => purchase?.(read(event))));
  source.addEventListener("again", () => tell(({ again }) => again?.()));
};

/** Begins, ends or changes the connection, as those who listen need it. A tab that nobody sees has none: a browser opens few to one host. */
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

/** Listens while what calls it is shown. @param account whose news, for operators; one's own otherwise @param isOn whether to listen at all */
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
