// What a page asks the server: asked when it opens and whenever the question changes, with what went wrong as one sentence.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call } from "./api.ts";

export type Query<T> = {
  /** The answer; undefined until there is one. The one before stays while the next is on its way. */
  value: T | undefined;
  fault: string | null;
  isBusy: boolean;
  again: () => void;
  /** Puts another answer in its place, as a change returns it. */
  put: (value: T) => void;
};

/** Asks for a path; null: for nothing. */
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
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again]);
  return { value, fault, isBusy, again, put: setValue };
};
