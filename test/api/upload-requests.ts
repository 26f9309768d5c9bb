// Requests that upload files: as a form, as raw bytes, and byte by byte over a socket.
import { connect } from "node:net";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Harness, ParsedResponse } from "../harness.ts";

/** An uploaded file as the API shows it. */
export type FileResource = {
  id: string;
  object: "file";
  kind: string;
  content_type: string;
  bytes: number;
  sha256: string;
  width: number | null;
  height: number | null;
  duration_s: number | null;
  url: string;
  created_at: string;
  expires_at: string;
};

export const BOUNDARY = "the-boundary";

/** A form of parts: the headers of each, and its bytes. */
export const formOf = (parts: readonly (readonly [headers: string, bytes: Uint8Array | string])[], end = `--${BOUNDARY}--\r\n`) =>
  Buffer.concat([
    ...parts.flatMap(([headers, bytes]) => [
      Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\n`),
      Buffer.from(bytes as Uint8Array),
      Buffer.from("\r\n"),
    ]),
    Buffer.from(end),
  ]);
export const FILE_PART = 'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png';
export const FORM = `multipart/form-data; boundary=${BOUNDARY}`;

type Sent = { body: Uint8Array | ReadableStream<Uint8Array> | FormData | string; type?: string; key?: string | null };

/** Sends an upload and parses the response. */
export const sendFile = async (
  { url, tenant }: Pick<Harness, "url" | "tenant">,
  { body, type, key }: Sent,
): Promise<ParsedResponse> => {
  const own = key === undefined ? tenant.key : key;
  const headers = {
    ...(own === null ? {} : { authorization: `Bearer ${own}` }),
    ...(type === undefined ? {} : { "content-type": type }),
  };
  const response = await fetch(`${url}/v1/files`, { method: "POST", headers, body } as RequestInit);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as JsonObject };
};

/** Uploads bytes and expects success. */
export const uploaded = async (harness: Harness, bytes: Uint8Array, key?: string): Promise<FileResource> => {
  const answered = await sendFile(harness, { body: bytes, type: "application/octet-stream", ...(key ? { key } : {}) });
  if (answered.status !== 201) throw new Error(`the upload answered ${answered.status} ${answered.text}`);
  return answered.body as unknown as FileResource;
};

/** The bytes of a sample of the simulator. */
export const sampleBytes = async ({ simulator }: Pick<Harness, "simulator">, name: string): Promise<Uint8Array> =>
  (await fetch(`${simulator.url}/samples/${name}`)).bytes();

/** Sends the beginning of an upload over a socket, and keeps the connection open until `end`. */
export const beginUpload = async ({ url, tenant }: Harness, head: string, bytes: Uint8Array) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => void socket.once("connect", resolve));
  socket.write(`POST /v1/files HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${tenant.key}\r\n${head}\r\n\r\n`);
  socket.write(bytes);
  return { received: () => received, write: (more: Uint8Array) => void socket.write(more), end: () => void socket.destroy() };
};
