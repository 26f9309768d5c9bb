// A door before PostgreSQL that breaks at a chosen moment: before a COMMIT gets through, before its answer does, or without a word.
import { createServer, type Socket, connect as toServer } from "node:net";

export type Wire = {
  port: number;
  /** The next COMMIT does not arrive: the connection breaks with it. */
  cutBeforeCommit(): void;
  /** The next COMMIT is done, and its answer does not arrive. */
  cutAfterCommit(): void;
  /** From the next COMMIT on nothing arrives on either side, also of connections to come, until `goOn`. */
  stallAtCommit(): void;
  goOn(): void;
  /** All connections break at this moment. */
  cut(): void;
  /** Connections that are open go silent for good on either side, without a word; new ones work. */
  swallow(): void;
  /** How often it broke or stalled. */
  times(): number;
  close(): void;
};

/** Splits bytes into messages: a letter, the length of the rest with itself, the rest. What comes first has no letter. */
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

/** Knows a COMMIT among what a client sends: as one message, or as the running of a statement that was prepared before. */
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

/** @param port of the server. */
export const openProxy = async (port: number): Promise<Wire> => {
  let next: "before" | "after" | "stall" | undefined;
  let times = 0;
  let isStalled = false;
  /** What waits for the end of a stall. */
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();
  /** Those whose other side is gone without a word. */
  const silent = new Set<Socket>();
  const strike = (kind: typeof next): boolean => {
    if (next !== kind) return false;
    next = undefined;
    times += 1;
    return true;
  };

  const door = createServer((client) => {
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
        // Who is gone while nothing gets through is not known to the other side.
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
  await new Promise<void>((ready) => door.listen(0, "127.0.0.1", ready));
  const address = door.address();
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
    goOn: () => {
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
      door.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
