// A page whose code is loaded when it is gone to: nothing but the page itself waits for it.
import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

type Loaded<P> = { Page: ComponentType<P> } | { fault: string } | null;

/** Wraps a way to load a page. The same wrapped page must be used each time: it remembers that it was loaded. */
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
            if (!isLeft) setLoaded({ fault: "This page could not be loaded; load it again. There may be a new release." });
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
