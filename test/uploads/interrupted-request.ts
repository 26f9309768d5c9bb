// An HTTP request whose body takes some time, and which its client breaks after some bytes.
import { type IncomingHttpHeaders, request } from "node:http";

export type Reply = { kind: "answered"; status: number; headers: IncomingHttpHeaders; text: string };
/** `cut`: this client broke the connection. `broken`: it ended without a response. `absent`: the service does not listen. */
export type Outcome = Reply | { kind: "cut" | "broken" | "absent" };

export type Sent = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Uint8Array;
  /** Bytes of the body after which the connection is broken. */
  cutAfter?: number | undefined;
  /** Time between the last of these bytes and the break. */
  cutLaterMs?: number;
  /** Time over which the body is spread. */
  bodyMs?: number;
};

const SLICES = 8;
/** The service answers within this time, or it has ended. */
const PATIENCE_MS = 30_000;

export const sendInterrupted = ({ method, url, headers, body, cutAfter, cutLaterMs = 0, bodyMs = 0 }: Sent): Promise<Outcome> =>
  new Promise((resolve) => {
    let isCut = false;
    let wasConnected = false;
    const sending = request(url, {
      method,
      headers: { ...headers, connection: "close", "content-length": String(body?.length ?? 0) },
      agent: false,
      timeout: PATIENCE_MS,
    });
    const end = () => resolve({ kind: isCut ? "cut" : wasConnected ? "broken" : "absent" });
    const onConnected = () => {
      wasConnected = true;
    };
    sending.on("socket", (socket) => socket.once("connect", onConnected));
    sending.on("timeout", () => sending.destroy());
    sending.on("error", (fault: NodeJS.ErrnoException) => {
      if (fault.code !== "ECONNREFUSED") onConnected();
      end();
    });
    sending.on("close", end);
    sending.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", end);
      response.on("aborted", end);
      response.on("end", () =>
        resolve({
          kind: "answered",
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(parts).toString("utf8"),
        }),
      );
    });
    const write = async (): Promise<void> => {
      const bytes = body ?? new Uint8Array();
      const last = Math.min(cutAfter ?? bytes.length, bytes.length);
      const slice = Math.max(1, Math.ceil(bytes.length / SLICES));
      for (let at = 0; at < last && !sending.destroyed; at += slice) {
        await new Promise<void>((written) => void sending.write(bytes.subarray(at, Math.min(at + slice, last)), () => written()));
        if (bodyMs > 0) await Bun.sleep(bodyMs / SLICES);
      }
      if (cutAfter === undefined) return void sending.end();
      await Bun.sleep(cutLaterMs);
      isCut = true;
      sending.destroy();
      end();
    };
    void write();
  });
