// The rows of the list of generations: pages by filters, updates by events, and the place where the user left the list.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { GenerationDetail, GenerationsPage as Page } from "../../../src/console/generations-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { reconnections } from "../../components/connection.tsx";
import { wentBack } from "../../components/going-back.ts";
import { isListening, useEvents } from "./event-stream.ts";
import { type Filters, queryOf } from "./filters.tsx";
import { type Rows, withPage, withPending, withRead, withUpdates } from "./live-rows.ts";

const PATH = "/console/api/generations";
/** Events within this period are handled by one read. */
const REST_MS = 300;

type Loaded = { rows: Rows; next: string | null; looked: number };
const NOTHING: Loaded = { rows: { shown: [], held: [] }, next: null, looked: 0 };
/** The list that was left last, for the Back button. */
let left: (Loaded & { requested: string; scrollY: number }) | undefined;

/** Restores the scroll position of a list that is opened again by Back, and remembers it when the list is left. */
const usePlace = (requested: string, loaded: Loaded, isRestored: boolean): void => {
  const latest = useRef({ requested, loaded });
  latest.current = { requested, loaded };
  useLayoutEffect(() => {
    if (isRestored) window.scrollTo(0, left?.scrollY ?? 0);
    let scrollY = window.scrollY;
    const onScroll = () => {
      scrollY = window.scrollY;
    };
    addEventListener("scroll", onScroll, { passive: true });
    return () => {
      removeEventListener("scroll", onScroll);
      left = { ...latest.current.loaded, requested: latest.current.requested, scrollY };
    };
  }, []);
};

const withMore = ({ rows: { shown, held }, looked }: Loaded, page: Page): Loaded => ({
  rows: { shown: [...shown, ...page.generations], held },
  next: page.next,
  looked: looked + page.looked,
});

type SetRows = (change: (rows: Rows) => Rows) => void;

/** Applies events to the rows. A generation that is not shown yet is read with the newest page. */
const useNews = (filters: Filters, current: Rows, setRows: SetRows, readNewest: () => void): void => {
  const rows = useRef(current);
  rows.current = current;
  useEvents(filters.account || null, {
    generation: (news) => {
      const isKnown = [...rows.current.shown, ...rows.current.held].some(({ id }) => id === news.id);
      setRows((all) => withUpdates(all, news));
      if (!isKnown) readNewest();
      else if (news.completedAtMs !== null)
        call<GenerationDetail>("GET", `${PATH}/${news.id}`).then(
          (one) => setRows((all) => withRead(all, one)),
          () => undefined,
        );
    },
    again: readNewest,
  });
};

/** Rows for the filters, and their updates. `isHeld` is true while the user points at a row. */
export const useRows = (filters: Filters, isHeld: () => boolean) => {
  const requested = queryOf(filters, null);
  const [isRestored] = useState(() => wentBack() && left?.requested === requested);
  const [loaded, setLoaded] = useState<Loaded>(isRestored && left ? left : NOTHING);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(!isRestored);
  const newest = useRef(0);
  const isFirst = useRef(true);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  usePlace(requested, loaded, isRestored);
  const setRows: SetRows = (change) => setLoaded((all) => ({ ...all, rows: change(all.rows) }));

  const load = useCallback(
    async (before: string | null, put: (page: Page) => void) => {
      newest.current += 1;
      const mine = newest.current;
      setBusy(true);
      try {
        const page = await call<Page>("GET", `${PATH}${queryOf(filters, before)}`);
        if (mine !== newest.current) return;
        put(page);
        setFault(null);
      } catch (thrown) {
        if (mine !== newest.current) return;
        setFault(errorText(thrown));
      }
      setBusy(false);
    },
    [requested],
  );
  /** Reloads the newest page shortly after the first of several events. */
  const readNewest = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      const mine = newest.current;
      call<Page>("GET", `${PATH}${requested}`).then(
        (page) => mine === newest.current && setRows((all) => withPage(all, page.generations, isHeld())),
        () => undefined,
      );
    }, REST_MS);
  }, [requested]);
  const isReported = isListening.value;
  const { value: reconnection } = reconnections;
  useEffect(() => {
    if (!isReported) return;
    if (isRestored && isFirst.current) readNewest();
    else {
      setLoaded(NOTHING);
      void load(null, ({ generations: shown, next, looked }) => setLoaded({ rows: { shown, held: [] }, next, looked }));
    }
    isFirst.current = false;
    return () => {
      newest.current += 1;
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [load, isReported, reconnection]);

  useNews(filters, loaded.rows, setRows, readNewest);
  const loadMore = () => load(loaded.next, (page) => setLoaded((all) => withMore(all, page)));
  const remove = (ids: ReadonlySet<string>) =>
    setRows(({ shown, held }) => ({
      shown: shown.filter(({ id }) => !ids.has(id)),
      held: held.filter(({ id }) => !ids.has(id)),
    }));
  return { ...loaded, fault, isBusy, loadMore, remove, showHeld: () => setRows(withPending) };
};
