// A TCP proxy before PostgreSQL that breaks at a chosen moment: before a COMMIT, before its response, or silently.
import { createServer, type Socket, connect as toServer } from "node:net";

export type Wire = {
  port: number;
  /** The next COMMIT does not arrive: the connection breaks before it. */
  cutBeforeCommit(): void;
  /** The next COMMIT is executed, and its response does not arrive. */
  cutAfterCommit(): void;
  /** From the next COMMIT until `resume` no bytes arrive on either side, also on new connections. */
  stallAtCommit(): void;
  resume(): void;
  /** Breaks all connections. */
  cut(): void;
  /** Silences the open connections on both sides for good; new connections work. */
  swallow(): void;
  /** The number of breaks and stalls. */
  times(): number;
  close(): void;
};

/** Splits bytes into messages: a type byte, the length including itself, the payload. A first message has no type byte. */
const splitter = (hasLetter: boolean) => {
  let rest = Buffer.alloc(0);
  let isFirst = !hasLetter;
  return (chunk: Buffer): Buffer[] => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Buffer[] = [];
    for (;;) {
      const letter = isFirst ? 0 : 1;
      if (rest.length < letter + 4) return messages;
      const length = letter + rest.readUInt32BE(letter);
      if (rest.length < length) return messages;
      messages.push(rest.subarray(0, length));
      rest = rest.subarray(length);
      isFirst = false;
    }
  };
};

const text = (message: Buffer, from: number): string => message.toString("utf8", from, message.indexOf(0, from));

/** Detects a COMMIT from a client: as one message, or as the execution of a prepared statement. */
const commitFinder = () => {
  const prepared = new Map<string, string>();
  return (message: Buffer): boolean => {
    const kind = String.fromCharCode(message[0] ?? 0);
    if (kind === "Q") return text(message, 5) === "COMMIT";
    const name = text(message, 5);
    const next = 5 + Buffer.byteLength(name) + 1;
    if (kind === "P") prepared.set(name, text(message, next));
    return kind === "B" && prepared.get(text(message, next)) === "COMMIT";
  };
};
const isDone = (message: Buffer): boolean => message[0] === 0x43 && text(message, 5) === "COMMIT";

/** @param port The port of the server. */
export const openProxy = async (port: number): Promise<Wire> => {
  let next: "before" | "after" | "stall" | undefined;
  let times = 0;
  let isStalled = false;
  /** Messages that wait for the end of a stall. */
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();
  /** Sockets whose peer is silent. */
  const silent = new Set<Socket>();
  const strike = (kind: typeof next): boolean => {
    if (next !== kind) return false;
    next = undefined;
    times += 1;
    return true;
  };

  const proxy = createServer((client) => {
    const server = toServer(port, "127.0.0.1");
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", () => {
        sockets.delete(socket);
        // During a stall the other side does not see that a socket has closed.
        if (isStalled) held.push(end);
        else end();
      });
    }
    const pass = (to: Socket, message: Buffer) => {
      const write = () => void (to.destroyed || to.write(message));
      if (isStalled) held.push(write);
      else write();
    };
    const sent = splitter(false);
    const isCommit = commitFinder();
    client.on("data", (chunk: Buffer) => {
      if (silent.has(client)) return undefined;
      for (const message of sent(chunk)) {
        if (isCommit(message)) {
          if (strike("before")) return end();
          if (strike("stall")) isStalled = true;
        }
        pass(server, message);
      }
    });
    const answered = splitter(true);
    server.on("data", (chunk: Buffer) => {
      if (silent.has(server)) return undefined;
      for (const message of answered(chunk)) {
        if (isDone(message) && strike("after")) return end();
        pass(client, message);
      }
    });
  });
  await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
  const address = proxy.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    cutBeforeCommit: () => {
      next = "before";
    },
    cutAfterCommit: () => {
      next = "after";
    },
    stallAtCommit: () => {
      next = "stall";
    },
    resume: () => {
      if (next === "stall") next = undefined;
      isStalled = false;
      for (const release of held.splice(0)) release();
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    swallow: () => {
      for (const socket of sockets) silent.add(socket);
    },
    times: () => times,
    close: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
