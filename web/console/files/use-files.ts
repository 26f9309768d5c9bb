// Pages of uploaded files, newest first, loaded one after another.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { FilesPage, UploadedFileDto } from "../../../src/console/files-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { queryOf } from "../credits/amounts.ts";

export type FileList = {
  /** The newest page; undefined until it is loaded. */
  page: FilesPage | undefined;
  files: readonly UploadedFileDto[];
  hasMore: boolean;
  isBusy: boolean;
  fault: string | null;
  more: () => void;
  /** Reads the newest page again. */
  again: () => void;
};

/** @param account null: the user's own */
export const useFiles = (account: string | null): FileList => {
  const [page, setPage] = useState<FilesPage>();
  const [older, setOlder] = useState<readonly UploadedFileDto[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(true);
  const [fault, setFault] = useState<string | null>(null);
  const newest = useRef(0);
  const read = useCallback(
    (after: string | null, take: (answer: FilesPage) => void) => {
      newest.current += 1;
      const mine = newest.current;
      setBusy(true);
      call<FilesPage>("GET", `/console/api/files${queryOf({ account, after })}`).then(
        (answer) => {
          if (mine !== newest.current) return;
          take(answer);
          setNext(answer.next);
          setFault(null);
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
  const again = useCallback(
    () =>
      read(null, (answer) => {
        setPage(answer);
        setOlder([]);
      }),
    [read],
  );
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again]);
  const more = () => read(next, (answer) => setOlder((all) => [...all, ...answer.files]));
  return { page, files: [...(page?.files ?? []), ...older], hasMore: next !== null, isBusy, fault, more, again };
};
