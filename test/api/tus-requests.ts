// Requests of the tus protocol: create, append, resume and terminate, and the beginning of an append over a socket.
import { connect } from "node:net";
import type { Harness, ParsedResponse, Tenant } from "../harness.ts";

export const UPLOADS = "/v1/files/uploads";
export const TUS = { "tus-resumable": "1.0.0" };
export const APPEND = { ...TUS, "content-type": "application/offset+octet-stream" };

type Headers = Record<string, string>;
type Node = Pick<Harness, "request" | "tenant">;

/** Creates an upload of so many bytes. @returns its path */
export const created = async (node: Node, bytes: number, key?: string, headers: Headers = {}): Promise<string> => {
  const answered = await create(node, bytes, key, headers);
  if (answered.status !== 201) throw new Error(`the creation answered ${answered.status} ${answered.text}`);
  return answered.headers.get("location") ?? "";
};
export const create = (node: Node, bytes: number | string, key?: string, headers: Headers = {}): Promise<ParsedResponse> =>
  node.request("POST", UPLOADS, {
    ...(key ? { key } : {}),
    headers: { ...TUS, "upload-length": String(bytes), ...headers },
  });

/** Appends bytes at an offset. The harness sends strings, so bytes are sent by their own request. */
export const append = async (
  { url, tenant }: Pick<Harness, "url" | "tenant">,
  path: string,
  offset: number,
  bytes: Uint8Array,
  headers: Headers = {},
  key = tenant.key,
): Promise<ParsedResponse> => {
  const sent = { ...APPEND, authorization: `Bearer ${key}`, "upload-offset": String(offset), ...headers };
  const response = await fetch(url + path, { method: "PATCH", headers: sent, body: Buffer.from(bytes) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === "" ? {} : JSON.parse(text) };
};

export const head = (node: Node, path: string, key?: string): Promise<ParsedResponse> =>
  node.request("HEAD", path, { ...(key ? { key } : {}), headers: TUS });
export const terminate = (node: Node, path: string): Promise<ParsedResponse> => node.request("DELETE", path, { headers: TUS });
/** The offset that the service returns. */
export const offsetOf = async (node: Node, path: string): Promise<number> =>
  Number((await head(node, path)).headers.get("upload-offset"));

/** Sends the beginning of an append over a socket; the connection stays open until `end`. */
export const beginAppend = async (
  { url, tenant }: { url: string; tenant: Pick<Tenant, "key"> },
  path: string,
  { offset, length, headers = "" }: { offset: number; length: number; headers?: string },
  bytes: Uint8Array,
) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => void socket.once("connect", resolve));
  socket.write(
    `PATCH ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${tenant.key}\r\nTus-Resumable: 1.0.0\r\n` +
      `Content-Type: application/offset+octet-stream\r\nUpload-Offset: ${offset}\r\nContent-Length: ${length}\r\n${headers}\r\n`,
  );
  socket.write(bytes);
  return { received: () => received, write: (more: Uint8Array) => void socket.write(more), end: () => void socket.destroy() };
};
