// Loads the code of a page when it is opened first.
import type { ComponentType, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { words } from "../words/words.ts";
import { checkConnection, reconnections } from "./connection.tsx";
import { Skeleton } from "./skeleton.tsx";

/** `preload`: loads the code before the page is shown. */
export type LazyPage<P> = ComponentType<P> & { preload: () => Promise<void> };

type Loaded<P> = { Page: ComponentType<P> } | "failed" | null;

const PageLost = (): VNode => (
  <div class="notice is-bad" role="alert">
    <p>{words.connection.pageLost}</p>
    <button type="button" class="button" onClick={() => location.reload()}>
      {words.connection.reload}
    </button>
  </div>
);

/**
 * Wraps the loader of a page. The same wrapper must be used each time, because it caches the loaded page. A page that could not be
 * loaded because the service was unreachable is loaded again when the connection has returned.
 */
export const lazyPage = <P extends object>(load: () => Promise<ComponentType<P>>): LazyPage<P> => {
  let known: ComponentType<P> | null = null;
  const View = (props: P): VNode => {
    const [loaded, setLoaded] = useState<Loaded<P>>(known === null ? null : { Page: known });
    const { value: reconnection } = reconnections;
    const atFirst = useRef(reconnection);
    // The whole document, because the browser remembers that the script was missing.
    if (loaded === "failed" && reconnection !== atFirst.current) location.reload();
    useEffect(() => {
      let isLeft = false;
      if (loaded === null)
        load().then(
          (page) => {
            known = page;
            if (!isLeft) setLoaded({ Page: page });
          },
          () => {
            if (isLeft) return;
            setLoaded("failed");
            void checkConnection();
          },
        );
      return () => {
        isLeft = true;
      };
    }, [loaded]);
    if (loaded === null) return <Skeleton />;
    return loaded === "failed" ? <PageLost /> : <loaded.Page {...props} />;
  };
  return Object.assign(View, {
    preload: () =>
      load().then(
        (page) => {
          known = page;
        },
        // The page reports the error when it is shown.
        () => undefined,
      ),
  });
};
