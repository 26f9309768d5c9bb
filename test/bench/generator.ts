// The load generator: a process that sends prepared requests over plain sockets, times each answer, and prints one line of figures.
import { readFileSync } from "node:fs";

/** Requests of one kind. */
export type Stream = {
  /** Everything of a request up to its last header line, taken in turn. */
  heads: readonly string[];
  /** Adds an `Idempotency-Key` that was never used before. */
  isKeyed: boolean;
  body: string;
};
export type Plan = {
  port: number;
  connections: number;
  warmMs: number;
  forMs: number;
  /** Requests per second whatever the answers take; null: each connection sends the next when it has its answer. */
  rate: number | null;
  /** Taken in turn, one request of each. */
  streams: readonly Stream[];
};
/** Of one stream. Times in µs from when a request was due to the last byte of its answer. */
export type Times = { count: number; p50: number; p99: number; p999: number; max: number };
export type Load = {
  perSecond: number;
  count: number;
  /** How often each status came. */
  statuses: Record<string, number>;
  /** Connections that broke. */
  broken: number;
  streams: Times[];
  /** The generator's own share of a core: at 0.9 it is the bottleneck, and nothing was measured. */
  share: number;
};

/** Times in buckets: whole µs up to 20 ms, tenths of a ms up to 5 s. */
const FINE = 20_000;
const COARSE_US = 100;
const COARSE = 50_000;

class Histogram {
  private readonly fine = new Uint32Array(FINE);
  private readonly coarse = new Uint32Array(COARSE + 1);
  private max = 0;
  count = 0;

  add(us: number): void {
    this.count += 1;
    if (us > this.max) this.max = us;
    if (us < FINE) this.fine[Math.floor(us)] = (this.fine[Math.floor(us)] ?? 0) + 1;
    else {
      const at = Math.min(COARSE, Math.floor(us / COARSE_US));
      this.coarse[at] = (this.coarse[at] ?? 0) + 1;
    }
  }

  private below(share: number): number {
    let left = share * this.count;
    for (const [us, n] of this.fine.entries()) {
      left -= n;
      if (left <= 0) return us;
    }
    for (const [at, n] of this.coarse.entries()) {
      left -= n;
      if (left <= 0) return at * COARSE_US;
    }
    return this.max;
  }

  times(): Times {
    const { count } = this;
    return { count, p50: this.below(0.5), p99: this.below(0.99), p999: this.below(0.999), max: Math.round(this.max) };
  }
}

const HEADS_END = Buffer.from("\r\n\r\n");
const nowUs = () => Bun.nanoseconds() / 1000;

/** A connection and what it waits for. */
type Line = { write: (text: string) => void; dueUs: number; stream: number; buffered: Buffer | null; missing: number };

const run = async (plan: Plan): Promise<Load> => {
  const tag = Math.random().toString(36).slice(2, 10);
  const times = plan.streams.map(() => new Histogram());
  const statuses: Record<string, number> = {};
  let sent = 0;
  let broken = 0;
  let isMeasured = false;
  let isOver = false;
  const free: Line[] = [];
  const overdue: number[] = [];

  const next = (line: Line): string => {
    const n = sent++;
    line.stream = n % plan.streams.length;
    const stream = plan.streams[line.stream] as Stream;
    const turn = Math.floor(n / plan.streams.length);
    const head = stream.heads[turn % stream.heads.length] ?? "";
    return `${head}${stream.isKeyed ? `idempotency-key: ${tag}-${turn}\r\n` : ""}\r\n${stream.body}`;
  };
  const fire = (line: Line, dueUs: number) => {
    line.dueUs = dueUs;
    line.write(next(line));
  };
  const answered = (line: Line) => {
    if (isMeasured) times[line.stream]?.add(nowUs() - line.dueUs);
    if (isOver) return;
    if (plan.rate === null) fire(line, nowUs());
    else {
      const dueUs = overdue.shift();
      if (dueUs === undefined) free.push(line);
      else fire(line, dueUs);
    }
  };
  const read = (line: Line, chunk: Buffer) => {
    if (line.missing > 0) {
      line.missing -= chunk.length;
      if (line.missing <= 0) answered(line);
      return;
    }
    const bytes = line.buffered ? Buffer.concat([line.buffered, chunk]) : chunk;
    const end = bytes.indexOf(HEADS_END);
    // The socket's buffer is used again: what is kept has to be a copy.
    line.buffered = end < 0 ? Buffer.from(bytes) : null;
    if (end < 0) return;
    const head = bytes.toString("latin1", 0, end);
    const status = head.slice(9, 12);
    if (isMeasured) statuses[status] = (statuses[status] ?? 0) + 1;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    line.missing = length - (bytes.length - end - HEADS_END.length);
    if (line.missing <= 0) answered(line);
  };

  const lines = await Promise.all(
    Array.from({ length: plan.connections }, async () => {
      const line: Line = { write: () => undefined, dueUs: 0, stream: 0, buffered: null, missing: 0 };
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: plan.port,
        socket: {
          data: (_, chunk) => read(line, chunk),
          error: () => {
            broken += 1;
          },
          close: () => {
            if (!isOver) broken += 1;
          },
        },
      });
      line.write = (text) => void socket.write(text);
      return line;
    }),
  );

  if (plan.rate === null) for (const line of lines) fire(line, nowUs());
  else {
    free.push(...lines);
    const { rate } = plan;
    const fromUs = nowUs();
    let due = 0;
    // Asked again at every turn of the loop: timers are too coarse for a pace of thousands per second.
    const pace = () => {
      for (; due < ((nowUs() - fromUs) * rate) / 1e6; due += 1) {
        const dueUs = fromUs + (due * 1e6) / rate;
        const line = free.pop();
        if (line) fire(line, dueUs);
        else overdue.push(dueUs);
      }
      if (!isOver) setImmediate(pace);
    };
    pace();
  }

  await Bun.sleep(plan.warmMs);
  process.stdout.write("measuring\n");
  const cpu = process.cpuUsage();
  const fromUs = nowUs();
  isMeasured = true;
  await Bun.sleep(plan.forMs);
  isMeasured = false;
  const elapsedUs = nowUs() - fromUs;
  const { user, system } = process.cpuUsage(cpu);
  isOver = true;
  const count = times.reduce((sum, one) => sum + one.count, 0);
  return {
    perSecond: (count * 1e6) / elapsedUs,
    count,
    statuses,
    broken,
    streams: times.map((one) => one.times()),
    share: (user + system) / elapsedUs,
  };
};

if (import.meta.main) {
  const load = await run(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Plan);
  process.stdout.write(`${JSON.stringify(load)}\n`);
  process.exit(0);
}
