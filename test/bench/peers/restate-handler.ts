// Durable handler that Restate's server calls, as a process: `bun restate-handler.ts PORT`.
import { peerPackage } from "./packages.ts";

type Restate = {
  service(definition: {
    name: string;
    handlers: Record<string, (context: unknown, order: unknown) => Promise<unknown>>;
  }): unknown;
  createEndpointHandler(options: { services: unknown[] }): (request: Request) => Promise<Response>;
};

const { service, createEndpointHandler } = await peerPackage<Restate>("@restatedev/restate-sdk/fetch");
const generations = service({ name: "Generations", handlers: { accept: async (_, order) => order } });
Bun.serve({ hostname: "127.0.0.1", port: Number(process.argv[2]), fetch: createEndpointHandler({ services: [generations] }) });
