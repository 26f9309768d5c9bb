// News of generations as they are committed: one connection for each page, made again by itself, and what was missed meanwhile is read anew.
import { useEffect, useRef } from "preact/hooks";
import type { BalanceNews, GenerationNews } from "../../../src/console/making-wire.ts";
import { learnMe } from "../../parts/api.ts";

export type Listening = {
  generation?: (news: GenerationNews) => void;
  balance?: (news: BalanceNews) => void;
  /** Something may have been missed. */
  again?: () => void;
};

/** A browser gives up on a connection that is refused (a service that starts anew): it is made again after so long. */
const AGAIN_MS = 2000;

/** Listens while the page is open. @param account whose news, for operators; one's own otherwise */
export const useNews = (account: string | null, listening: Listening): void => {
  const latest = useRef(listening);
  latest.current = listening;
  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = <T>(event: Event): T => JSON.parse((event as MessageEvent<string>).data) as T;
    const listen = () => {
      source = new EventSource(`/console/api/events${account === null ? "" : `?account=${encodeURIComponent(account)}`}`);
      // Also the first time: what changed after the page was read and before this was open would never be told.
      source.onopen = () => latest.current.again?.();
      source.onerror = () => {
        if (source?.readyState !== EventSource.CLOSED) return;
        // Whoever is signed out finds out here, and is asked to sign in.
        learnMe().catch(() => undefined);
        timer = setTimeout(listen, AGAIN_MS);
      };
      source.addEventListener("generation", (event) => latest.current.generation?.(read(event)));
      source.addEventListener("balance", (event) => latest.current.balance?.(read(event)));
      source.addEventListener("again", () => latest.current.again?.());
    };
    listen();
    return () => {
      clearTimeout(timer);
      source?.close();
    };
  }, [account]);
};
