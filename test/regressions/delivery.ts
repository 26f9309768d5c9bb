// Harness for result files that a test serves: what is delivered, what is charged and how often the service downloads.
import { onTestFinished } from "bun:test";
import type { MediaKind } from "../../src/domain/types.ts";
import { FAL, REPLICATE } from "../generation/catalogue.ts";
import { openScene, type Scene, type SceneOptions } from "../generation/fixture.ts";
import type { GenerationResource } from "../harness.ts";

/** Responds to a download; `nth` counts from 1 over all downloads. */
export type FileServer = (request: Request, nth: number) => Response | Promise<Response>;

export type Delivery = Scene & {
  /** Paths that the service requested from the file server, in order. */
  fetched: string[];
  /** Submits one generation, whose route delivers links to the file server, and waits until it ends. */
  order(): Promise<GenerationResource>;
  /** Downloads file 1 with the API key. */
  content(id: string): Promise<Response>;
};

/** Opens a service with two routes: the cheaper one delivers links to the file server, the other one works. */
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

/** A response with all bytes and their length. */
export const whole = (bytes: Uint8Array, headers: Record<string, string> = {}): Response =>
  new Response(new Uint8Array(bytes), { headers });
