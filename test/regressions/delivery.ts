// A provider whose files are served as a test says: what a customer gets of them, what it costs, and how often they were fetched.
import { onTestFinished } from "bun:test";
import type { MediaKind } from "../../src/domain/types.ts";
import { FAL, REPLICATE } from "../generation/catalogue.ts";
import { openScene, type Scene, type SceneOptions } from "../generation/fixture.ts";
import type { Shown } from "../harness.ts";

/** Answers a fetch; `nth` counts from 1 over all fetches. */
export type FileServer = (request: Request, nth: number) => Response | Promise<Response>;

export type Delivery = Scene & {
  /** Paths fetched from the file server, in order. */
  fetched: string[];
  /** Orders one generation, whose route announces files of the server, and waits for its end. */
  order(): Promise<Shown>;
  /** Downloads file 1 with the key. */
  content(id: string): Promise<Response>;
};

/** The cheaper of two routes announces what the file server answers; the other works. */
export const openDelivery = async (
  kind: MediaKind,
  answer: FileServer,
  { path = "/file", ...options }: SceneOptions & { path?: string } = {},
): Promise<Delivery> => {
  const fetched: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      fetched.push(new URL(request.url).pathname);
      return answer(request, fetched.length);
    },
  });
  onTestFinished(() => server.stop(true));
  const scene = await openScene({
    routes: [FAL, REPLICATE],
    kind,
    ...options,
    env: { GENROUTER_MEDIA__ALLOW: server.url.host, ...options.env },
  });
  scene.simulator.script({ fault: "elsewhere", url: `${server.url.origin}${path}`, endpoint: "life/fal" });
  return {
    ...scene,
    fetched,
    order: async () => {
      const { id } = await scene.begin();
      await scene.hurry(async () => ["succeeded", "failed"].includes((await scene.show(id)).status));
      return scene.show(id);
    },
    content: (id) =>
      fetch(`${scene.url}/v1/generations/${id}/content`, { headers: { authorization: `Bearer ${scene.tenant.key}` } }),
  };
};

/** Bytes as a server sends them, whole, with their length. */
export const whole = (bytes: Uint8Array, headers: Record<string, string> = {}): Response =>
  new Response(new Uint8Array(bytes), { headers });
