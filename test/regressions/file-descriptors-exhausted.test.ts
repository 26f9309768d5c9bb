// A service whose clients take all file descriptors logs it, refuses new connections and recovers.
import { afterAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { descriptorLimit, lowDescriptors } from "../../src/http/file-descriptors.ts";
import { start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { doctor, has } from "../cli/diagnosis.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { eventually } from "../eventually.ts";

afterAll(dropDirs);

const LIMIT = 256;

/**
 * Opens connections that send one byte of a request. A client that sends nothing can wait without end: when its connection was
 * incomplete in the queue of a closed listener, only the answer to a packet says so.
 * @returns the open ones, and a function that closes all.
 */
const crowd = (port: number, count: number) => {
  const open = new Set<Socket>();
  const all = Array.from({ length: count }, () => {
    const socket = connect(port, "127.0.0.1", () => {
      open.add(socket);
      socket.write("G");
    });
    return socket.on("error", () => undefined).on("close", () => open.delete(socket));
  });
  const leave = () => {
    for (const socket of all) socket.destroy();
  };
  return { open, leave };
};

test.skipIf(process.platform !== "linux")(
  "logs exhausted file descriptors once, refuses new connections, and recovers when clients disconnect",
  async () => {
    const dir = freshDir();
    const node = start(
      ["sh", "-c", `ulimit -n ${LIMIT}; exec "$@"`, "sh", ...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir],
      {},
    );
    const [, url = ""] = await node.hears(/^url (\S+)\n/m);
    await node.hears(/"file descriptor limit low"/);
    has(await doctor(dir, {}), "descriptors", "warning", /may open 256 file descriptors/, /LimitNOFILE/);
    const port = Number(new URL(url).port);
    const clients = crowd(port, 2 * LIMIT);
    await node.hears(/"file descriptors exhausted"/);
    await eventually(() => clients.open.size < LIMIT, "refusals");
    clients.leave();
    await node.hears(/"file descriptors recovered"/);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(node.output().match(/"file descriptors exhausted"/g)).toHaveLength(1);
    node.kill("SIGTERM");
    expect(await node.ended).toMatchObject({ code: 0 });
  },
  30_000,
);

test("compares the hard descriptor limit with the need of limits.max_running", () => {
  expect(descriptorLimit("Max open files            64        4096       files\n")).toBe(4096);
  expect(descriptorLimit("")).toBeUndefined();
  expect(lowDescriptors(1000, 1024)).toMatch(/limits\.max_running = 1000 needs 2256/);
  expect(lowDescriptors(1000, 65_536)).toBeUndefined();
});
