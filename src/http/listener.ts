// The listening socket: opened, closed, and closed for a while when the process runs out of file descriptors.
import type { DescriptorWatch } from "./file-descriptors.ts";

type Server = Bun.Server<unknown>;

/** What listens: Elysia, whose `server` is the one that it opened last. */
export type Listening = {
  listen(at: { hostname: string; port: number; reusePort: boolean }): unknown;
  readonly server: Server | null;
};

export type Listener = {
  /** Starts listening. Rejects when the address cannot be had. `url` has no slash at its end. */
  listen(at: { host: string; port: number }): Promise<{ url: string }>;
  /** Refuses new connections, waits for the answers under way (`atMostMs`), then closes what is idle. */
  stop(atMostMs: number): Promise<void>;
};

const STOP_STEP_MS = 5;

export const originOf = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

/**
 * While no descriptor is left, the runtime's accept loop would spin on connections that it cannot take. So the socket is closed then: new
 * connections are refused at once, idle ones are closed, and requests under way are answered. It opens again when there is room.
 */
export const openListener = (
  app: Listening,
  watch: (on: { exhausted(): void; recovered(): void }) => DescriptorWatch,
): Listener => {
  /** Servers that do not listen any more, and may still answer. */
  const former = new Set<Server>();
  let descriptors: DescriptorWatch | undefined;
  const close = (server: Server): void => {
    former.add(server);
    // It resolves when the last of its connections has ended.
    void server.stop(false).then(() => former.delete(server));
  };
  return {
    listen: async ({ host, port }) => {
      // Elysia would share the port with whoever else listens on it: requests would go to one or the other.
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
      // The runtime would wait for idle connections too, and for ever for one whose body was never read to its end.
      close(app.server);
      const all = [...former];
      const isBusy = () => all.some(({ pendingRequests }) => pendingRequests > 0);
      const untilMs = performance.now() + atMostMs;
      while (isBusy() && performance.now() < untilMs) await Bun.sleep(STOP_STEP_MS);
      for (const server of all) await server.stop(true);
    },
  };
};
