// Bench of uploads: the memory that the service adds while it receives one large file as a body, as a form and by tus.
import { connect } from "node:net";
import { fetchStats } from "../../src/cli/control-client.ts";
import { makeClip } from "../../src/simulator/clip.ts";
import { type Bench, hold, type Result } from "./bench.ts";
import { headOf, type Stage, withService } from "./sides.ts";
import { watchResident } from "./watch-resident.ts";

const MB = 1_000_000;
const BYTES = 2_000 * MB;
const BYTES_IN_SHORT = 256 * MB;
const ADDS_MB = 64;
const LIMIT_BYTES = 4_096 * MB;
const PIECE_BYTES = 256 * 1024;
const BOX_HEAD_BYTES = 8;
const BOUNDARY = "bench-of-uploads";

/** A clip with padding behind it: its head, and the number of zero bytes that follow. */
type Padded = { head: Uint8Array; zeros: number };

/** The padding is a box `free`, whose length has 32 bits. */
const padTo = async (bytes: number): Promise<Padded> => {
  const clip = await makeClip({ width: 640, height: 360 }, 1_000, true, 1);
  const head = Buffer.alloc(clip.length + BOX_HEAD_BYTES);
  head.set(clip);
  head.writeUInt32BE(bytes - clip.length, clip.length);
  head.write("free", clip.length + 4, "latin1");
  return { head, zeros: bytes - head.length };
};

const ZEROS = new Uint8Array(PIECE_BYTES);
const piecesOf = function* ({ head, zeros }: Padded): Generator<Uint8Array> {
  yield head;
  for (let left = zeros; left > 0; left -= PIECE_BYTES) yield left < PIECE_BYTES ? ZEROS.subarray(0, left) : ZEROS;
};
const hashOf = (file: Padded): string => {
  const hash = new Bun.CryptoHasher("sha256");
  for (const piece of piecesOf(file)) hash.update(piece);
  return hash.digest("hex");
};

/** Sends one request as fast as its receiver reads it. @returns the response */
const send = (
  port: number,
  head: string,
  pieces: Iterable<Uint8Array>,
): Promise<{ status: number; head: string; body: string }> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port });
    const left = pieces[Symbol.iterator]();
    let text = "";
    const write = () => {
      for (;;) {
        const { done, value } = left.next();
        if (done) return;
        if (!socket.write(value)) return void socket.once("drain", write);
      }
    };
    socket.on("connect", () => {
      socket.write(`${head}connection: close\r\n\r\n`);
      write();
    });
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) reject(new Error("an upload was not answered"));
      else resolve({ status: Number(text.slice(9, 12)), head: text.slice(0, end), body: text.slice(end + 4) });
    });
  });

/** One way to upload a file. @returns its SHA-256 as the service states it */
type Way = (port: number, key: string, file: Padded, bytes: number) => Promise<string>;

const hashIn = ({ status, body }: { status: number; body: string }, expected: number): string => {
  if (status !== expected) throw new Error(`an upload was answered ${status}: ${body.slice(0, 300)}`);
  return (JSON.parse(body) as { sha256: string }).sha256;
};

const asBody: Way = async (port, key, file, bytes) => {
  const head = headOf("POST /v1/files", key, `content-type: video/mp4\r\ncontent-length: ${bytes}\r\n`);
  return hashIn(await send(port, head, piecesOf(file)), 201);
};

const asForm: Way = async (port, key, file, bytes) => {
  const open = Buffer.from(
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="clip.mp4"\r\ncontent-type: video/mp4\r\n\r\n`,
  );
  const close = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  const length = open.length + bytes + close.length;
  const head = headOf(
    "POST /v1/files",
    key,
    `content-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${length}\r\n`,
  );
  const pieces = function* () {
    yield open;
    yield* piecesOf(file);
    yield close;
  };
  return hashIn(await send(port, head, pieces()), 201);
};

const valueIn = (head: string, name: string): string => new RegExp(`\r\n${name}: *(\\S+)`, "i").exec(head)?.[1] ?? "";

const byTus: Way = async (port, key, file, bytes) => {
  const tus = "tus-resumable: 1.0.0\r\n";
  const create = headOf("POST /v1/files/uploads", key, `${tus}upload-length: ${bytes}\r\ncontent-length: 0\r\n`);
  const created = await send(port, create, []);
  if (created.status !== 201) throw new Error(`the creation of an upload was answered ${created.status}: ${created.body}`);
  const type = `content-type: application/offset+octet-stream\r\nupload-offset: 0\r\ncontent-length: ${bytes}\r\n`;
  const patched = await send(port, headOf(`PATCH ${valueIn(created.head, "location")}`, key, tus + type), piecesOf(file));
  if (patched.status !== 204) throw new Error(`an upload was answered ${patched.status}: ${patched.body.slice(0, 300)}`);
  const read = headOf(`GET /v1/files/${valueIn(patched.head, "genrouter-file")}`, key);
  return hashIn(await send(port, read, []), 200);
};

const WAYS: readonly (readonly [name: string, way: Way])[] = [
  ["body", asBody],
  ["form", asForm],
  ["tus", byTus],
];

/** Each way has a separate account, because the service stores equal bytes of an account once. */
const measure = async ({ service, dir, keys }: Stage, bytes: number, report: (line: string) => void): Promise<Result[]> => {
  const file = await padTo(bytes);
  const sha256 = hashOf(file);
  const size = `${(bytes / MB).toLocaleString("en-US")} MB`;
  const results: Result[] = [];
  for (const [at, [name, way]] of WAYS.entries()) {
    await fetchStats(dir, { collect: true });
    const fromMono = performance.now();
    const watch = watchResident(service.pid);
    const received = await way(service.port, keys[at] ?? "", file, bytes).finally(watch.stop);
    if (received !== sha256) throw new Error(`the uploaded file is another one: ${received}`);
    const added = watch.addedBytes() / MB;
    const perSecond = bytes / MB / ((performance.now() - fromMono) / 1000);
    report(`${name}: ${added.toFixed(1)} MB added by ${size}, ${perSecond.toFixed(0)} MB/s`);
    const sides = `added by ${size} / the bound`;
    results.push(hold({ name: `upload, ${name}`, unit: "MB", sides, target: 1, wants: "at most" }, added, ADDS_MB));
  }
  return results;
};

export const upload: Bench = {
  name: "upload",
  compares: "resident memory added by an upload of 2 GB (256 MB in short) as a body, as a form and by tus / 64 MB",
  run: (env) =>
    withService({ env: { GENROUTER_LIMITS__UPLOAD_BYTES: String(LIMIT_BYTES) } }, (stage) =>
      measure(stage, env.isShort ? BYTES_IN_SHORT : BYTES, env.report),
    ),
};
