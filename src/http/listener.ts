// Opens and closes the listening socket, and suspends it while file descriptors are exhausted.
import type { DescriptorWatch } from "./file-descriptors.ts";

type Server = Bun.Server<unknown>;

/** The server that listens. With Elysia, `server` is the server that was opened last. */
export type Listening = {
  listen(at: { hostname: string; port: number; reusePort: boolean }): unknown;
  readonly server: Server | null;
};

export type Listener = {
  /** Starts listening. Rejects if the address is not available. `url` has no trailing slash. */
  listen(at: { host: string; port: number }): Promise<{ url: string }>;
  /** Refuses new connections, waits up to `atMostMs` for responses in progress, then closes idle connections. */
  stop(atMostMs: number): Promise<void>;
};

const STOP_STEP_MS = 5;

export const originOf = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

/**
 * Without free descriptors, the accept loop of the runtime would spin on connections that it cannot accept. So the socket is
 * closed: new connections are refused at once, idle ones are closed, and requests in progress are answered. The socket opens
 * again when descriptors are free.
 */
export const openListener = (
  app: Listening,
  watch: (on: { exhausted(): void; recovered(): void }) => DescriptorWatch,
): Listener => {
  /** Servers that no longer listen but may still send responses. */
  const former = new Set<Server>();
  let descriptors: DescriptorWatch | undefined;
  const close = (server: Server): void => {
    former.add(server);
    // Resolves when the last connection of the server has ended.
    void server.stop(false).then(() => former.delete(server));
  };
  return {
    listen: async ({ host, port }) => {
      // By default, Elysia would share the port with another process that listens on it, and requests would reach either of them.
      const begin = (at: number) => app.listen({ hostname: host, port: at, reusePort: false });
      begin(port);
      const own = app.server?.port ?? port;
      descriptors = watch({
        exhausted: () => app.server && close(app.server),
        recovered: () => begin(own),
      });
      return { url: originOf(host, own) };
    },
    stop: async (atMostMs) => {
      descriptors?.stop();
      if (!app.server) return;
      // The runtime would also wait for idle connections, and without limit for a connection whose body was never read to the
      // end.
      close(app.server);
      const all = [...former];
      const isBusy = () => all.some(({ pendingRequests }) => pendingRequests > 0);
      const untilMs = performance.now() + atMostMs;
      while (isBusy() && performance.now() < untilMs) await Bun.sleep(STOP_STEP_MS);
      for (const server of all) await server.stop(true);
    },
  };
};
