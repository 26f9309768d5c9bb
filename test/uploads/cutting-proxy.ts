// A TCP proxy in front of a service that may restart at another address, and that breaks connections after some bytes.

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

export type CuttingProxy = {
  url: string;
  /** Forwards further connections to this service. */
  leadTo: (url: string) => void;
  /** Ends the connections that clients keep open. */
  dropConnections: () => void;
  /** Number of connections that were broken. */
  cuts: () => number;
  close: () => Promise<void>;
};

/** @param cutAfter the bytes from the client after which the next connection is broken; undefined: it is not */
export const openCuttingProxy = async (cutAfter: () => number | undefined): Promise<CuttingProxy> => {
  let target = { host: "127.0.0.1", port: 1 };
  let cuts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    let leftBytes = cutAfter() ?? Number.POSITIVE_INFINITY;
    client.on("data", (data: Buffer) => {
      if (data.length >= leftBytes) {
        cuts += 1;
        upstream.write(data.subarray(0, leftBytes), end);
        leftBytes = 0;
        return;
      }
      leftBytes -= data.length;
      if (!upstream.write(data)) {
        client.pause();
        upstream.once("drain", () => client.resume());
      }
    });
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    leadTo: (url) => {
      const at = new URL(url);
      target = { host: at.hostname, port: Number(at.port) };
    },
    dropConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
};
