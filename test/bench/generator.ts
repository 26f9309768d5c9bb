// Load generator: a process that sends prepared requests over plain sockets and measures response times.
//
// It prints a line of figures for each line of its input. It runs for all rounds of a side, so that its code is warm.
import { readFileSync } from "node:fs";

/** Requests of one kind. */
export type Stream = {
  /** The requests up to their last header line, used in turn. */
  heads: readonly string[];
  /** Adds a unique `Idempotency-Key`. */
  isKeyed: boolean;
  body: string;
};
/** The requests of a generator and their targets. */
export type Target = {
  /** Connections are spread over these in turn. */
  ports: readonly number[];
  /** Used in turn, one request of each. */
  streams: readonly Stream[];
};
/** One measurement. */
export type Plan = {
  connections: number;
  warmMs: number;
  forMs: number;
  /** A fixed rate of requests per second; null: each connection sends the next request after its response. */
  rate: number | null;
};
/** Figures of one stream. Times in µs from when a request was due to the last byte of its response or the end of the round. */
export type Times = { count: number; p50: number; p99: number; p999: number; max: number };
export type Load = {
  perSecond: number;
  count: number;
  /** Counts of each status. */
  statuses: Record<string, number>;
  /** The same, including responses before and after the measurement. */
  answered: Record<string, number>;
  /** One body of each stream. */
  samples: string[];
  /** The number of broken connections. */
  broken: number;
  streams: Times[];
  /** The generator's share of a core: from 0.9 on it is the bottleneck, and the figures are invalid. */
  share: number;
};

/** Histogram of times: 1 µs buckets up to 20 ms, 0.1 ms buckets up to 5 s. */
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
    if (this.count === 0) return Number.NaN;
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
const [ZERO, NINE, SPACE, LETTER_H] = [0x30, 0x39, 0x20, 0x68];
const nowUs = () => Bun.nanoseconds() / 1000;

/** A connection and its pending request. */
type Line = { write: (bytes: string | Buffer) => void; dueUs: number; stream: number; buffered: Buffer | null; missing: number };

/** The length of the body. Both sides are Bun, which puts it last: the digits before the end of the head are parsed in place. */
const lengthIn = (bytes: Buffer, end: number): number => {
  let at = end - 1;
  let length = 0;
  for (let place = 1; at > 0; at -= 1, place *= 10) {
    const digit = bytes[at] ?? 0;
    if (digit < ZERO || digit > NINE) break;
    length += (digit - ZERO) * place;
  }
  if (at < end - 1 && bytes[at] === SPACE && bytes[at - 2] === LETTER_H) return length;
  return Number(/\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1] ?? 0);
};
const statusIn = (bytes: Buffer): number =>
  ((bytes[9] ?? 0) - ZERO) * 100 + ((bytes[10] ?? 0) - ZERO) * 10 + (bytes[11] ?? 0) - ZERO;

/** Serializes requests in turn. Requests without a key never change and are cached as bytes. */
const openRequests = (streams: readonly Stream[]) => {
  const tag = Math.random().toString(36).slice(2, 10);
  const ready = streams.map(({ heads, isKeyed, body }) =>
    isKeyed ? [] : heads.map((head) => Buffer.from(`${head}\r\n${body}`)),
  );
  let sent = 0;
  return (line: Line): string | Buffer => {
    const n = sent++;
    const at = n % streams.length;
    line.stream = at;
    const turn = Math.floor(n / streams.length);
    const { heads, isKeyed, body } = streams[at] as Stream;
    if (!isKeyed) return ready[at]?.[turn % heads.length] ?? "";
    return `${heads[turn % heads.length] ?? ""}idempotency-key: ${tag}-${turn}\r\n\r\n${body}`;
  };
};

const run = async (
  ports: readonly number[],
  next: (line: Line) => string | Buffer,
  streams: number,
  plan: Plan,
): Promise<Load> => {
  const times = Array.from({ length: streams }, () => new Histogram());
  const statuses = new Map<number, number>();
  const all = new Map<number, number>();
  const samples: string[] = [];
  let broken = 0;
  let isMeasured = false;
  let isOver = false;
  const free: Line[] = [];
  const overdue: number[] = [];

  const fire = (line: Line, dueUs: number) => {
    line.dueUs = dueUs;
    line.write(next(line));
  };
  const answered = (line: Line) => {
    const atUs = nowUs();
    if (isMeasured) times[line.stream]?.add(atUs - line.dueUs);
    if (isOver) return;
    if (plan.rate === null) fire(line, atUs);
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
    // The socket reuses its buffer, so kept bytes are copied.
    line.buffered = end < 0 ? Buffer.from(bytes) : null;
    if (end < 0) return;
    const status = statusIn(bytes);
    all.set(status, (all.get(status) ?? 0) + 1);
    if (isMeasured) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    line.missing = lengthIn(bytes, end) - (bytes.length - end - HEADS_END.length);
    if (line.missing === 0) samples[line.stream] ??= bytes.toString("utf8", end + HEADS_END.length);
    if (line.missing <= 0) answered(line);
  };

  const lines = await Promise.all(
    Array.from({ length: plan.connections }, async (_, at) => {
      const line: Line = { write: () => undefined, dueUs: 0, stream: 0, buffered: null, missing: 0 };
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: ports[at % ports.length] ?? 0,
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
      line.write = (bytes) => void socket.write(bytes);
      return { line, close: () => socket.terminate() };
    }),
  );

  if (plan.rate === null) for (const { line } of lines) fire(line, nowUs());
  else {
    free.push(...lines.map(({ line }) => line));
    const { rate } = plan;
    const fromUs = nowUs();
    let due = 0;
    // Checked at every turn of the loop, because timers are too coarse for thousands of requests per second.
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
  process.stdout.write("measured\n");
  const untilUs = nowUs();
  const elapsedUs = untilUs - fromUs;
  const { user, system } = process.cpuUsage(cpu);
  isOver = true;
  const count = times.reduce((sum, one) => sum + one.count, 0);
  // A due request without a response counts with its waiting time, so that a stall at the end of a round is included.
  const late = plan.rate === null ? [] : lines.map(({ line }) => line).filter((line) => !free.includes(line));
  for (const { stream, dueUs } of late) times[stream]?.add(untilUs - dueUs);
  for (const [n, dueUs] of overdue.entries()) times[n % streams]?.add(untilUs - dueUs);
  for (const { close } of lines) close();
  return {
    perSecond: (count * 1e6) / elapsedUs,
    count,
    statuses: Object.fromEntries(statuses),
    answered: Object.fromEntries(all),
    samples,
    broken,
    streams: times.map((one) => one.times()),
    share: (user + system) / elapsedUs,
  };
};

if (import.meta.main) {
  const { ports, streams } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Target;
  const next = openRequests(streams);
  for await (const line of console) {
    const load = await run(ports, next, streams.length, JSON.parse(line) as Plan);
    process.stdout.write(`${JSON.stringify(load)}\n`);
  }
}
