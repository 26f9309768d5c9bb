// Loads the code of a page when it is opened first.
import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

type Loaded<P> = { Page: ComponentType<P> } | { fault: string } | null;

/** Wraps the loader of a page. The same wrapper must be used each time, because it caches the loaded page. */
export const lazyPage = <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> => {
  let known: ComponentType<P> | null = null;
  return (props: P): VNode => {
    const [loaded, setLoaded] = useState<Loaded<P>>(known === null ? null : { Page: known });
    useEffect(() => {
      let isLeft = false;
      if (loaded === null)
        load().then(
          (page) => {
            known = page;
            if (!isLeft) setLoaded({ Page: page });
          },
          () => {
            if (!isLeft) setLoaded({ fault: "This page could not be loaded. Reload it; there may be a new release." });
          },
        );
      return () => {
        isLeft = true;
      };
    }, [loaded]);
    if (loaded === null) return <p aria-busy="true">Loading…</p>;
    if ("fault" in loaded)
      return (
        <p class="notice is-bad" role="alert">
          {loaded.fault}
        </p>
      );
    return <loaded.Page {...props} />;
  };
};
