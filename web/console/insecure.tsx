// Page shown over plain http, where the browser would drop the session cookie.
//
// It explains how to reach the same link securely.
import type { VNode } from "preact";
import { NEEDS_HTTPS } from "../../src/console/needs-https.ts";
import { words } from "../words/console-words.ts";

const STANDARD_PORT = "80";

/** A port that is usually free on the user's own machine. */
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
      <p>{words.insecure.tunnel}</p>
      <pre>{tunnel}</pre>
      <p>
        {words.insecure.thenOpen} <a href={local}>{local}</a>
      </p>
      <p>
        {words.insecure.permanent} <code>server.public_url</code> {words.insecure.toAddress}
      </p>
    </>
  );
};
