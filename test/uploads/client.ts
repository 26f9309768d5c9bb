// Client process of the upload program: workers that upload, break connections, continue, terminate and delete until SIGTERM.
import { readFileSync } from "node:fs";
import { chance } from "../../src/simulator/fault-script.ts";
import { FILE_PART, FORM, formOf } from "../api/upload-requests.ts";
import { contentOf, SHARED_CONTENTS } from "./content.ts";
import { type Outcome, type Reply, type Sent, sendInterrupted } from "./interrupted-request.ts";
import { isOver, openUploadLog, readUploadLog, type UploadKind, type UploadLine, uploadsOf } from "./upload-log.ts";

/** `life`: number of earlier client processes of the world. */
export type ClientPlan = { url: string; log: string; seed: number; life: number; keys: string[]; workersPerAccount: number };

/** Shares of the uploads and of their requests. */
const KINDS: readonly (readonly [UploadKind, number])[] = [
  ["form", 0.3],
  ["bytes", 0.3],
  ["resumable", 0.4],
];
const CUT = 0.65;
const CUT_PIECE = 0.4;
const REPEATED = 0.2;
const CHECKED = 0.4;
const LEFT = 0.35;
const TERMINATED = 0.1;
const CONTINUED = 0.3;
const DELETED = 0.15;
const BODY_MS = [10, 500] as const;
/** Share of the breaks that follow a whole body, and the longest time between the two. */
const CUT_AT_END = 0.2;
const CUT_LATER_MS = 120;
const AGAIN_MS = 60;
const MOST_TRIES = 12;
/** Responses after which the same request is sent again: the service starts or is busy, or another request has the upload. */
const AGAIN: ReadonlySet<number> = new Set([409, 423, 429, 503]);

type Left = { n: number; content: number; path: string };
type World = {
  plan: ClientPlan;
  write: (line: UploadLine) => void;
  roll: () => number;
  isStopping: () => boolean;
  newNumber: () => number;
  newContent: (account: number) => number;
  /** Resumable uploads that no worker continues at present, by account. */
  left: Left[][];
  /** Stored files by account. */
  files: string[][];
};

const between = (roll: () => number, [least, most]: readonly [number, number]) => least + roll() * (most - least);
const codeOf = ({ text }: Reply): string => {
  try {
    return String((JSON.parse(text) as { error?: { code?: string } }).error?.code);
  } catch {
    return text.slice(0, 100);
  }
};

/** Where and when a client breaks the connection, if it does. */
const cutOf = (roll: () => number, share: number, bytes: number): Pick<Sent, "cutAfter" | "cutLaterMs"> => {
  if (roll() >= share) return {};
  if (roll() < CUT_AT_END) return { cutAfter: bytes, cutLaterMs: roll() * CUT_LATER_MS };
  return { cutAfter: Math.floor(roll() * bytes) };
};

/** Sends a request, and again until the service listens. */
const send = async (
  { plan, isStopping }: World,
  account: number,
  sent: Omit<Sent, "url"> & { path: string },
): Promise<Outcome> => {
  for (;;) {
    const headers = { authorization: `Bearer ${plan.keys[account]}`, ...sent.headers };
    const outcome = await sendInterrupted({ ...sent, url: `${plan.url}${sent.path}`, headers });
    if (outcome.kind !== "absent" || isStopping()) return outcome;
    await Bun.sleep(AGAIN_MS);
  }
};

const uploadWhole = async (world: World, account: number, n: number, kind: UploadKind, bytes: Buffer): Promise<void> => {
  const { roll, write, files } = world;
  const body = kind === "form" ? formOf([[FILE_PART, bytes]]) : bytes;
  const type = kind === "form" ? FORM : "audio/wav";
  const about = { method: "POST", path: "/v1/files", headers: { "content-type": type }, bodyMs: between(roll, BODY_MS) };
  const outcome = await send(world, account, { ...about, body, ...cutOf(roll, CUT, body.length) });
  if (outcome.kind !== "answered")
    return write(outcome.kind === "absent" ? { type: "refused", n, status: 0, code: outcome.kind } : { type: outcome.kind, n });
  if (outcome.status !== 201) return write({ type: "refused", n, status: outcome.status, code: codeOf(outcome) });
  const file = String((JSON.parse(outcome.text) as { id: string }).id);
  write({ type: "stored", n, file });
  files[account]?.push(file);
};

const TUS = { "tus-resumable": "1.0.0" };

/** The result of a step: the next offset, or null if nothing more can or shall be done now. */
type Step = { offset: number } | null;

const noteReply = (world: World, account: number, { n }: Left, reply: Reply): Step => {
  const { write, files } = world;
  const file = reply.headers["genrouter-file"];
  if (file !== undefined) {
    write({ type: "stored", n, file: String(file) });
    files[account]?.push(String(file));
    return null;
  }
  if (reply.status < 300) return { offset: Number(reply.headers["upload-offset"]) };
  write({ type: "refused", n, status: reply.status, code: codeOf(reply) });
  return null;
};

/** Asks for the offset, until the service answers. */
const readOffset = async (world: World, account: number, left: Left): Promise<Step> => {
  for (let tries = 0; tries < MOST_TRIES && !world.isStopping(); tries += 1) {
    const outcome = await send(world, account, { method: "HEAD", path: left.path, headers: TUS });
    if (outcome.kind === "answered" && !AGAIN.has(outcome.status)) return noteReply(world, account, left, outcome);
    await Bun.sleep(AGAIN_MS);
  }
  leave(world, account, left);
  return null;
};
const leave = ({ left }: World, account: number, one: Left): void => void left[account]?.push(one);

const sendPiece = async (world: World, account: number, { path }: Left, bytes: Buffer, offset: number): Promise<Outcome> => {
  const { roll } = world;
  const rest = bytes.length - offset;
  const piece = bytes.subarray(offset, roll() < 0.5 ? bytes.length : offset + Math.ceil(roll() * rest));
  const checksum = roll() < CHECKED ? { "upload-checksum": `sha256 ${Bun.SHA256.hash(piece, "base64")}` } : {};
  const headers = {
    ...{ ...TUS, "upload-offset": String(offset), "content-type": "application/offset+octet-stream" },
    ...checksum,
  };
  const cut = cutOf(roll, CUT_PIECE, piece.length);
  return await send(world, account, { method: "PATCH", path, headers, body: piece, ...cut, bodyMs: between(roll, BODY_MS) });
};

const terminate = async (world: World, account: number, left: Left): Promise<void> => {
  world.write({ type: "terminating", n: left.n });
  const outcome = await send(world, account, { method: "DELETE", path: left.path, headers: TUS });
  if (outcome.kind === "answered" && (outcome.status === 204 || outcome.status === 410))
    return world.write({ type: "terminated", n: left.n });
  leave(world, account, left);
};

/** Continues a resumable upload from an offset, until it is stored, refused, terminated or left. */
const continueUpload = async (world: World, account: number, left: Left, from: Step): Promise<void> => {
  const { roll, write, plan, isStopping } = world;
  const bytes = contentOf(plan.seed, account, left.content);
  let step = from;
  while (step !== null) {
    if (isStopping()) return leave(world, account, left);
    const outcome: Outcome = await sendPiece(world, account, left, bytes, step.offset);
    if (outcome.kind === "answered" && !AGAIN.has(outcome.status)) {
      step = noteReply(world, account, left, outcome);
      continue;
    }
    if (outcome.kind === "cut" || outcome.kind === "broken") {
      write({ type: outcome.kind, n: left.n });
      const next = roll();
      if (next < LEFT) return leave(world, account, left);
      if (next > 1 - TERMINATED) return await terminate(world, account, left);
    } else await Bun.sleep(AGAIN_MS);
    step = await readOffset(world, account, left);
  }
};

const beginResumable = async (world: World, account: number, n: number, content: number, bytes: Buffer): Promise<void> => {
  const { write } = world;
  const headers = { ...TUS, "upload-length": String(bytes.length) };
  const outcome = await send(world, account, { method: "POST", path: "/v1/files/uploads", headers });
  if (outcome.kind !== "answered") return write({ type: outcome.kind === "absent" ? "cut" : outcome.kind, n });
  if (outcome.status !== 201) return write({ type: "refused", n, status: outcome.status, code: codeOf(outcome) });
  const path = String(outcome.headers.location);
  write({ type: "created", n, path });
  await continueUpload(world, account, { n, content, path }, { offset: 0 });
};

const deleteOne = async (world: World, account: number): Promise<void> => {
  const { roll, write, files } = world;
  const stored = files[account] ?? [];
  const [file] = stored.splice(Math.floor(roll() * stored.length), 1);
  if (file === undefined) return;
  write({ type: "deleting", account, file });
  const outcome = await send(world, account, { method: "DELETE", path: `/v1/files/${file}`, headers: {} });
  if (outcome.kind === "answered" && outcome.status === 200) write({ type: "deleted", account, file });
};

const pickKind = (roll: () => number): UploadKind => {
  let left = roll();
  for (const [kind, share] of KINDS) {
    left -= share;
    if (left < 0) return kind;
  }
  return "bytes";
};

const runWorker = async (world: World, account: number): Promise<void> => {
  const { roll, isStopping, write, plan, left } = world;
  while (!isStopping()) {
    const former = roll() < CONTINUED ? left[account]?.shift() : undefined;
    if (former) {
      await continueUpload(world, account, former, await readOffset(world, account, former));
      continue;
    }
    const [n, kind] = [world.newNumber(), pickKind(roll)];
    const content = roll() < REPEATED ? Math.floor(roll() * SHARED_CONTENTS) : world.newContent(account);
    write({ type: "begun", n, account, kind, content });
    const bytes = contentOf(plan.seed, account, content);
    if (kind === "resumable") await beginResumable(world, account, n, content, bytes);
    else await uploadWhole(world, account, n, kind, bytes);
    if (roll() < DELETED) await deleteOne(world, account);
  }
};

const openWorld = (plan: ClientPlan, isStopping: () => boolean): World => {
  const lines = readUploadLog(plan.log);
  const uploads = uploadsOf(lines);
  const gone = new Set(lines.flatMap((line) => (line.type === "deleting" ? [line.file] : [])));
  let last = uploads.reduce((most, { n }) => Math.max(most, n), 0);
  const contents = plan.keys.map((_, account) =>
    uploads.reduce((most, one) => (one.account === account ? Math.max(most, one.content) : most), SHARED_CONTENTS),
  );
  const of = <T>(pick: (upload: (typeof uploads)[number]) => T[]): T[][] =>
    plan.keys.map((_, account) => uploads.filter((one) => one.account === account).flatMap(pick));
  return {
    ...{ plan, isStopping, write: openUploadLog(plan.log), roll: chance(plan.seed * 131 + plan.life) },
    newNumber: () => (last += 1),
    newContent: (account) => (contents[account] = (contents[account] ?? 0) + 1),
    left: of((one) => (isOver(one) || one.path === null ? [] : [{ n: one.n, content: one.content, path: one.path }])),
    files: of(({ file }) => (file === null || gone.has(file) ? [] : [file])),
  };
};

const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as ClientPlan;
const parent = process.ppid;
let isStopRequested = false;
process.once("SIGTERM", () => {
  isStopRequested = true;
});
const world = openWorld(plan, () => isStopRequested || process.ppid !== parent);
process.stdout.write(`client of ${plan.keys.length} accounts\n`);
const workers = plan.keys.flatMap((_, account) =>
  Array.from({ length: plan.workersPerAccount }, () => runWorker(world, account)),
);
await Promise.all(workers);
process.exit(0);
