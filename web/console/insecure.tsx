// Instead of every page of the console where the browser would keep nobody signed in: what is needed, and how to get there with the same link.
import type { VNode } from "preact";
import { NEEDS_HTTPS } from "../../src/console/needs-https.ts";

const STANDARD_PORT = "80";

/** Chosen free of what usually runs on the person's own machine. */
const LOCAL_PORT = "8443";

export const Insecure = (): VNode => {
  const { hostname, port, pathname, search, hash } = location;
  const tunnel = `ssh -L ${LOCAL_PORT}:127.0.0.1:${port || STANDARD_PORT} ${hostname}`;
  const local = `http://localhost:${LOCAL_PORT}${pathname}${search}${hash}`;
  return (
    <>
      <p class="notice is-bad" role="alert">
        {NEEDS_HTTPS}
      </p>
      <p>A tunnel, from a terminal of this machine:</p>
      <pre>{tunnel}</pre>
      <p>
        Then this page: <a href={local}>{local}</a>
      </p>
      <p>
        For good: a proxy with TLS in front of the service, and the setting <code>server.public_url</code> with its https address.
      </p>
    </>
  );
};
