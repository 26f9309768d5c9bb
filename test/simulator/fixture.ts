// Fixture of the simulator's tests: a movable clock, clients of both dialects and a raw socket client.
import { connect } from "node:net";
import type { Clock } from "../../src/domain/clock.ts";
import { FAULTS, type FaultName, type Stage } from "../../src/simulator/faults.ts";
import { createSimulator, type Simulator, type SimulatorOptions } from "../../src/simulator/simulator.ts";
import { testSandbox } from "../sandbox.ts";

export type Body = Record<string, unknown>;
export type Reply = { status: number; headers: Headers; body: Body };
export const START_MS = Date.parse("2026-11-21T10:00:00.000Z");

/** A clock that moves only by `pass`. `waiting`: the number of pending timers. */
export const movableClock = (startMs = START_MS): Clock & { pass(ms: number): void; waiting(): number } => {
  let nowMs = startMs;
  const timers = new Set<{ dueAtMs: number; then: () => void }>();
  return {
    nowMs: () => nowMs,
    after: (ms, then) => {
      const timer = { dueAtMs: nowMs + ms, then };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: (ms) => {
      nowMs += ms;
      for (const timer of [...timers].filter(({ dueAtMs }) => dueAtMs <= nowMs)) {
        timers.delete(timer);
        timer.then();
      }
    },
    waiting: () => timers.size,
  };
};

const SCHEMES = { fal: "Key", replicate: "Bearer" } as const;

/** Sends one request in a dialect, credential included. */
export const call = async (url: string, method = "GET", body?: unknown, authorization = schemeOf(url)): Promise<Reply> => {
  const headers: Record<string, string> = authorization === "" ? {} : { authorization };
  const init = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const answer = await fetch(url, { method, headers, ...init });
  const text = await answer.text();
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    read = { text };
  }
  return { status: answer.status, headers: answer.headers, body: read as Body };
};
const schemeOf = (url: string) => `${url.includes("/fal/") ? SCHEMES.fal : SCHEMES.replicate} some-credential`;

/** Opens a simulator on a movable clock, with helpers for the usual requests. */
export const openBed = async (options: SimulatorOptions = {}) => {
  const clock = movableClock();
  const simulator = await createSimulator({ clock, sandbox: testSandbox, ...options });
  return {
    clock,
    simulator,
    fal: (endpoint: string, input: unknown) => call(`${simulator.falUrl}/${endpoint}`, "POST", input),
    replicate: (model: string, input: unknown) =>
      call(`${simulator.replicateUrl}/models/${model}/predictions`, "POST", { input }),
    /** Submits, lets the job finish and returns the URLs of its files. */
    files: async (provider: "fal" | "replicate", endpoint: string, input: Body): Promise<string[]> => {
      if (provider === "fal") {
        const { body } = await call(`${simulator.falUrl}/${endpoint}`, "POST", input);
        clock.pass(600_000);
        const result = await call(String(body.response_url));
        const { video, audio, image, images } = result.body as Record<string, never>;
        return [video, audio, image, ...((images as never[] | undefined) ?? [])].flatMap(
          (f: { url: string } | null | undefined) => (f ? [f.url] : []),
        );
      }
      const { body } = await call(`${simulator.replicateUrl}/models/${endpoint}/predictions`, "POST", { input });
      clock.pass(600_000);
      const { body: done } = await call((body.urls as { get: string }).get);
      return [done.output].flat().filter((url) => typeof url === "string");
    },
  };
};
export type Bed = Awaited<ReturnType<typeof openBed>>;

export type Ending = { text: string; how: "answered" | "reset" | "closed" | "silence" };

/** Sends bytes over a plain socket and reports the text and the end of the connection; `silence`: still open after `waitMs`. */
export const raw = (
  simulator: Simulator,
  method: string,
  path: string,
  body: unknown = undefined,
  waitMs = 250,
): Promise<Ending> => {
  const { hostname, port, host } = new URL(simulator.url);
  const payload = body === undefined ? "" : JSON.stringify(body);
  const auth = path.startsWith("/fal/") ? "Key k" : "Bearer k";
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${auth}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(payload)}\r\n\r\n`;
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => socket.write(head + payload));
    const silence = setTimeout(() => end("silence"), waitMs);
    const end = (how: Ending["how"]) => {
      clearTimeout(silence);
      socket.destroy();
      resolve({ text, how });
    };
    socket.on("data", (part) => {
      text += part.toString("latin1");
    });
    socket.on("error", (cause) => end((cause as NodeJS.ErrnoException).code === "ECONNRESET" ? "reset" : "closed"));
    socket.on("close", () => {
      const promised = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? -1);
      end(promised >= 0 && text.length - text.indexOf("\r\n\r\n") - 4 === promised ? "answered" : "closed");
    });
  });
};

/** Names of all faults of these stages, sorted. */
export const namesOf = (...stages: Stage[]): FaultName[] =>
  (Object.keys(FAULTS) as FaultName[]).filter((name) => stages.includes(FAULTS[name].stage)).sort();

// Detects file types by their first bytes, independently of the code under test.
const starts = (bytes: Uint8Array, at: number, word: string) =>
  Buffer.from(bytes.subarray(at, at + word.length)).toString("latin1") === word;

export const FILE_TYPES = {
  png: (bytes: Uint8Array) => starts(bytes, 0, "\x89PNG\r\n\x1a\n"),
  jpeg: (bytes: Uint8Array) => starts(bytes, 0, "\xff\xd8\xff"),
  webp: (bytes: Uint8Array) => starts(bytes, 0, "RIFF") && starts(bytes, 8, "WEBP"),
  mp4: (bytes: Uint8Array) => starts(bytes, 4, "ftyp"),
  mp3: (bytes: Uint8Array) => starts(bytes, 0, "ID3") || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0),
  wav: (bytes: Uint8Array) => starts(bytes, 0, "RIFF") && starts(bytes, 8, "WAVE"),
};
export const typeOf = (bytes: Uint8Array): string => Object.entries(FILE_TYPES).find(([, is]) => is(bytes))?.[0] ?? "none";
