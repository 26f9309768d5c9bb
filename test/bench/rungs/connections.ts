// Keeps thousands of connections open to one port: `connections.ts FILE`, with the name of a group of requests on standard input.
//
// It prints `sent` when each request of the group is sent, one on each connection, and `answered N` at the command `answers`, for
// each N that has arrived since the group was sent. It prints `ended` at the command `end`, when every response has arrived.
export type ConnectionsPlan = {
  port: number;
  /** Requests of each group, one for each connection. */
  groups: Readonly<Record<string, readonly string[]>>;
  /** The status of every response. */
  status: Readonly<Record<string, number>>;
};

const OPENED_AT_ONCE = 100;
const LOOK_MS = 20;
const HEADS_END = "\r\n\r\n";

const plan = (await Bun.file(process.argv[2] ?? "").json()) as ConnectionsPlan;
const count = Object.values(plan.groups)[0]?.length ?? 0;
let expected = 0;
let answered = 0;

const fail = (why: string): never => {
  process.stderr.write(`${why}\n`);
  process.exit(1);
};

type Line = { text: string; write: (bytes: string) => void };
const read = (line: Line, chunk: Buffer): void => {
  line.text += chunk.toString("latin1");
  const end = line.text.indexOf(HEADS_END);
  if (end < 0) return;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(line.text.slice(0, end))?.[1] ?? 0);
  if (line.text.length < end + HEADS_END.length + length) return;
  const status = Number(line.text.slice(9, 12));
  if (status !== expected) fail(`a response was ${line.text.slice(0, 300)}`);
  line.text = "";
  answered += 1;
};

const open = async (): Promise<Line> => {
  const line: Line = { text: "", write: () => undefined };
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: plan.port,
    socket: { data: (_, chunk) => read(line, chunk), close: () => fail("a connection was closed"), error: () => fail("broken") },
  });
  line.write = (bytes) => void socket.write(bytes);
  return line;
};

const lines: Line[] = [];
while (lines.length < count)
  lines.push(...(await Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, count - lines.length) }, open))));
process.stdout.write("ready\n");

for await (const command of console) {
  if (command === "end") {
    while (answered < count) await Bun.sleep(LOOK_MS);
    process.stdout.write("ended\n");
    continue;
  }
  if (command === "answers") {
    process.stdout.write(`answered ${answered}\n`);
    continue;
  }
  expected = plan.status[command] ?? 0;
  answered = 0;
  for (const [at, line] of lines.entries()) {
    line.write(plan.groups[command]?.[at] ?? "");
    // The backlog of one turn would be in the memory of the service.
    if (at % OPENED_AT_ONCE === 0) await Bun.sleep(1);
  }
  process.stdout.write("sent\n");
}
