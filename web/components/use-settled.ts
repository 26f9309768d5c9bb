// Hook that returns a typed text after a pause in typing.
import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 250;

export const useSettled = (text: string): string => {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};
