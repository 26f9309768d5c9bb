// Webhook deliveries, newest first, loaded page by page. A delivery that was just requested is read until its try has ended.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { DeliveriesPage, DeliveryDto } from "../../../src/console/webhooks-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { queryOf } from "../credits/amounts.ts";

const PATH = "/console/api/webhook-deliveries";
const EACH_MS = 1000;
/** Longer than a try may take. */
const READS = 15;

export type Deliveries = {
  rows: readonly DeliveryDto[];
  isLoaded: boolean;
  isBusy: boolean;
  hasMore: boolean;
  fault: string | null;
  more: () => void;
  again: () => void;
  /** Shows a delivery that was just requested, and follows it. */
  follow: (delivery: DeliveryDto) => void;
};

/** `readsLeft` by the id of a followed delivery. */
type Followed = ReadonlyMap<string, number>;

const withRow = (rows: readonly DeliveryDto[], row: DeliveryDto): readonly DeliveryDto[] =>
  rows.some(({ id }) => id === row.id) ? rows.map((one) => (one.id === row.id ? row : one)) : [row, ...rows];

/** @param account null: the user's own @param onEnd called when a followed delivery has ended */
export const useDeliveries = (account: string | null, onEnd: () => void): Deliveries => {
  const [rows, setRows] = useState<readonly DeliveryDto[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [isLoaded, setLoaded] = useState(false);
  const [isBusy, setBusy] = useState(true);
  const [fault, setFault] = useState<string | null>(null);
  const [followed, setFollowed] = useState<Followed>(new Map());
  const newest = useRef(0);

  const read = useCallback(
    (after: string | null) => {
      newest.current += 1;
      const mine = newest.current;
      setBusy(true);
      call<DeliveriesPage>("GET", `${PATH}${queryOf({ account, after })}`).then(
        (page) => {
          if (mine !== newest.current) return;
          setRows((all) => (after === null ? page.deliveries : [...all, ...page.deliveries]));
          setNext(page.next);
          setFault(null);
          setLoaded(true);
          setBusy(false);
        },
        (thrown: unknown) => {
          if (mine !== newest.current) return;
          setFault(errorText(thrown));
          setBusy(false);
        },
      );
    },
    [account],
  );
  const again = useCallback(() => read(null), [read]);
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again]);

  useEffect(() => {
    if (followed.size === 0) return;
    let isOver = false;
    const readOne = async ([id, left]: [string, number]): Promise<[string, number][]> => {
      const row = await call<DeliveryDto>("GET", `${PATH}/${id}${queryOf({ account })}`).catch(() => undefined);
      if (row && !isOver) setRows((all) => withRow(all, row));
      const isEnded = row !== undefined && (row.state !== "pending" || row.tries.length > 0);
      return isEnded || left <= 1 ? [] : [[id, left - 1]];
    };
    const timer = setTimeout(() => {
      void Promise.all([...followed].map(readOne)).then((left) => {
        if (isOver) return;
        setFollowed(new Map(left.flat()));
        if (left.some((one) => one.length === 0)) onEnd();
      });
    }, EACH_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [followed, account, onEnd]);

  const follow = (row: DeliveryDto) => {
    setRows((all) => withRow(all, row));
    setFollowed((all) => new Map(all).set(row.id, READS));
  };
  return { rows, isLoaded, isBusy, hasMore: next !== null, fault, more: () => read(next), again, follow };
};
