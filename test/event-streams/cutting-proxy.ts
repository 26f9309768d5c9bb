// A TCP proxy whose connections a test cuts, and which can refuse new ones.
import { connect, createServer, type Socket } from "node:net";

export type CuttingProxy = {
  url: string;
  /** Number of connections that are open. */
  open: () => number;
  /** Ends all open connections without a final byte. */
  cut: () => void;
  /** Whether new connections are closed at once. */
  refuse: (isRefusing: boolean) => void;
  stop: () => void;
};

export const openCuttingProxy = async (target: string): Promise<CuttingProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isRefusing = false;
  const server = createServer((socket) => {
    if (isRefusing) return void socket.destroy();
    const upstream = connect(Number(port), hostname);
    sockets.add(socket);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    open: () => sockets.size,
    cut,
    refuse: (next) => {
      isRefusing = next;
    },
    stop: () => {
      cut();
      server.close();
    },
  };
};
