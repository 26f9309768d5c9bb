// Queue of the uploads of a page: one file at a time, with its progress or its error.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import { errorText } from "../../components/api.ts";
import { uploadFile } from "../../components/upload.ts";

/** `part`: the sent part, from 0 to 1. */
export type Sending = { key: number; name: string; bytes: number; part: number; fault: string | null };
export type Uploads = {
  sending: readonly Sending[];
  add(files: Iterable<File>): void;
  /** Aborts an upload, or removes its error. */
  drop(key: number): void;
};

type Queued = { key: number; file: File; ending: AbortController };

/** @param onDone receives each stored file, and its name on the machine of the user */
export const useUploads = (onDone: (file: UploadedFileDto, name: string) => void): Uploads => {
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const queue = useRef<Queued[]>([]);
  const isRunning = useRef(false);
  const lastKey = useRef(0);
  const done = useRef(onDone);
  done.current = onDone;

  const set = (key: number, change: Partial<Sending>) =>
    setSending((all) => all.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const remove = (key: number) => setSending((all) => all.filter((one) => one.key !== key));

  const run = async () => {
    if (isRunning.current) return;
    isRunning.current = true;
    for (let next = queue.current[0]; next; next = queue.current[0]) {
      const { key, file, ending } = next;
      try {
        done.current(await uploadFile(file, (part) => set(key, { part }), ending.signal), file.name);
        remove(key);
      } catch (fault) {
        if (ending.signal.aborted) remove(key);
        else set(key, { fault: errorText(fault) });
      }
      queue.current = queue.current.filter((one) => one !== next);
    }
    isRunning.current = false;
  };
  const add = useCallback((files: Iterable<File>) => {
    for (const file of files) {
      lastKey.current += 1;
      const key = lastKey.current;
      queue.current.push({ key, file, ending: new AbortController() });
      setSending((all) => [...all, { key, name: file.name, bytes: file.size, part: 0, fault: null }]);
    }
    void run();
  }, []);
  // A page that is left sends nothing more.
  useEffect(
    () => () => {
      for (const { ending } of queue.current) ending.abort();
      queue.current = queue.current.slice(0, 1);
    },
    [],
  );
  const drop = (key: number) => {
    const found = queue.current.find((one) => one.key === key);
    found?.ending.abort();
    // The first one runs and is removed when it has ended.
    if (found !== queue.current[0] || found === undefined) {
      queue.current = queue.current.filter((one) => one !== found);
      remove(key);
    }
  };
  return { sending, add, drop };
};
