// Hook that loads data from the API on mount and on changes, with errors as sentences.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call } from "./api.ts";
import { reconnections } from "./connection.tsx";

export type Query<T> = {
  /** The response; undefined until it arrives. The previous response remains while the next one is loading. */
  value: T | undefined;
  fault: string | null;
  isBusy: boolean;
  again: () => void;
  /** Replaces the response, for example by the response to a change. */
  put: (value: T) => void;
};

/** Requests a path, and again when the connection to the service has returned; null requests nothing. */
export const useQuery = <T>(path: string | null): Query<T> => {
  const [value, setValue] = useState<T>();
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(path !== null);
  const newest = useRef(0);
  const again = useCallback(() => {
    if (path === null) return;
    newest.current += 1;
    const mine = newest.current;
    setBusy(true);
    call<T>("GET", path).then(
      (answer) => {
        if (mine !== newest.current) return;
        setValue(answer);
        setFault(null);
        setBusy(false);
      },
      (thrown: unknown) => {
        if (mine !== newest.current) return;
        setFault(thrown instanceof Error ? thrown.message : String(thrown));
        setBusy(false);
      },
    );
  }, [path]);
  const { value: reconnection } = reconnections;
  // The reconnection is a dependency, because a returned connection loads again.
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again, reconnection]);
  return { value, fault, isBusy, again, put: setValue };
};
