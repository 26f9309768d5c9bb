// Connects viewers to the actor registry and sends changes in batches, 20 per second.
//
// The first viewer starts the observation of actors, and the last one ends it.
import type { Socket, SocketLife } from "../http/websocket-upgrade.ts";
import type { Admitted } from "./access.ts";
import { createActorRegistry } from "./actor-registry.ts";
import { audienceOf } from "./field-allowlist.ts";
import { createGenerations, type GenerationDeps } from "./generations.ts";
import { createSystemActors, type SystemActorsDeps } from "./system-actors.ts";
import { createFrameViewer, createPageViewer, type Viewer } from "./viewers.ts";

export type HubDeps = GenerationDeps &
  SystemActorsDeps & {
    /** True if prompts are shown. */
    prompts: boolean;
    counts: () => { queued: number; running: number; live: number };
    failed: (fault: unknown) => void;
  };

/** Changes within this period are sent in one message. */
const BATCH_MS = 50;
const TICK_MS = 1_000;
const MAX_SOCKETS = 100;
const ID_CHARS = 300;
/** Interval at which the permission of viewers is checked. */
const RETRY_MS = 30_000;
/** "Policy violation" of RFC 6455. */
const NOT_ANY_MORE = 1008;
/** "Try again later" of the close codes registered for RFC 6455. */
const FULL = 1013;

export type Hub = ReturnType<typeof createHub>;

export const createHub = (deps: HubDeps) => {
  const { nowMs, prompts } = deps;
  const viewers = new Map<Viewer, Socket>();
  const sockets = new Set<Socket>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let ticker: ReturnType<typeof setInterval> | null = null;

  const arm = (): void => {
    if (timer === null && viewers.size > 0) timer = setTimeout(flush, BATCH_MS);
  };
  const flush = (): void => {
    timer = null;
    let isMore = false;
    for (const [viewer, socket] of viewers)
      try {
        isMore = viewer.flush() || isMore;
      } catch (fault) {
        deps.failed(fault);
        socket.close(1011, "the inspector failed; connect again");
      }
    if (isMore) arm();
  };
  const registry = createActorRegistry(arm);
  const generations = createGenerations(deps, registry);
  const machinery = createSystemActors(deps, registry);

  const tick = (): void => {
    generations.view();
    const { live, ...own } = deps.counts();
    const { queued, running, nodes } = generations.everywhere(own);
    // Generations that are still being read get their rows shortly.
    const unlisted = registry.isFull() ? Math.max(0, queued + running - registry.sizeOf("generation")) : 0;
    const totals = { queued, running, live, unlisted, viewers: viewers.size, ...nodes };
    for (const viewer of viewers.keys()) viewer.tick?.(totals);
    arm();
  };
  const enter = (viewer: Viewer, socket: Socket): void => {
    viewers.set(viewer, socket);
    if (viewers.size === 1) {
      generations.begin().catch(deps.failed);
      machinery.begin();
      ticker = setInterval(tick, TICK_MS);
    }
    tick();
  };
  const removeViewer = (viewer: Viewer): void => {
    if (!viewers.delete(viewer) || viewers.size > 0) return;
    if (ticker !== null) clearInterval(ticker);
    if (timer !== null) clearTimeout(timer);
    [ticker, timer] = [null, null];
    generations.end();
    machinery.end();
  };
  /** @param entered called if the number of sockets is below the limit */
  const lifeOf = (
    { isStillIn }: Admitted,
    entered: (socket: Socket) => { received: (text: string) => void; left: () => void },
  ): SocketLife => {
    let accessCheck: ReturnType<typeof setInterval> | null = null;
    let inside: ReturnType<typeof entered> | null = null;
    let mine: Socket | null = null;
    return {
      opened: (socket) => {
        if (sockets.size >= MAX_SOCKETS) return socket.close(FULL, "too many viewers are connected");
        sockets.add(socket);
        mine = socket;
        inside = entered(socket);
        const ask = async () => {
          if (!(await isStillIn())) socket.close(NOT_ANY_MORE, "sign in again");
        };
        accessCheck = setInterval(() => void ask().catch(deps.failed), RETRY_MS);
        return undefined;
      },
      received: (text) => inside?.received(text),
      drained: arm,
      closed: () => {
        if (mine) sockets.delete(mine);
        if (accessCheck !== null) clearInterval(accessCheck);
        inside?.left();
        inside = null;
      },
    };
  };

  return {
    /** Socket of the live page. */
    page: (admitted: Admitted): SocketLife =>
      lifeOf(admitted, (socket) => {
        const { role } = admitted;
        const audience = audienceOf(role, prompts);
        const { historyOf } = generations;
        const onReport = { hello: { prompts, role }, changed: arm, failed: deps.failed };
        const viewer = createPageViewer({ socket, registry, nowMs, audience, historyOf, ...onReport });
        enter(viewer, socket);
        return {
          received: (text) => {
            const id = readChoice(text);
            if (id !== undefined) viewer.choose?.(id);
            arm();
          },
          left: () => removeViewer(viewer),
        };
      }),
    /** Socket of the open protocol. It sends frames and ignores what the client sends. */
    open: (admitted: Admitted): SocketLife =>
      lifeOf(admitted, (socket) => {
        const viewer = createFrameViewer({ socket, registry, nowMs, audience: audienceOf(admitted.role, prompts) });
        enter(viewer, socket);
        return { received: () => undefined, left: () => removeViewer(viewer) };
      }),
    /** Closes every connection when the service stops. */
    stop: (): void => {
      for (const socket of [...sockets]) socket.close(1001, "the service is stopping");
    },
  };
};

/** The selected actor; undefined for an invalid message. */
const readChoice = (text: string): string | null | undefined => {
  if (text.length > ID_CHARS) return undefined;
  try {
    const { choose } = JSON.parse(text) as { choose?: unknown };
    return choose === null || typeof choose === "string" ? choose : undefined;
  } catch {
    return undefined;
  }
};
