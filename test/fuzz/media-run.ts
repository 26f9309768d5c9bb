// Fuzzes media: passes mutated files to the service's sandbox, and as inputs to a whole service.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Children, createChildPool } from "../../src/media/sandbox/child-pool.ts";
import type { Ending } from "../../src/media/sandbox/child-process.ts";
import type { JobReply } from "../../src/media/sandbox/jobs.ts";
import { inMemory } from "../../src/media/sandbox/sandbox.ts";
import { FROM_SOURCES } from "../../src/torture/crash/processes.ts";
import { diceOf } from "../bombs/all.ts";
import { openPlace, type Place } from "../bombs/fixture.ts";
import { post } from "../bombs/load.ts";
import { watchResident } from "../bombs/resident.ts";
import { keepScratch, makeScratch } from "../scratch.ts";
import { type MediaFile, mediaFiles } from "./media-files.ts";
import { type Mutant, mutantOf, repaintedOf } from "./media-mutations.ts";

export type MediaPlan = { cases: number; seed: number; only: number | undefined };

const LANES = 2;
/** One in this many is also sent to the service, which costs a request and possibly a generation. */
const SENT_EVERY = 8;
/** One in this many has only meaningless bytes changed: its measures must stay the same. */
const REPAINTED_EVERY = 10;
/** Reading an input takes at most 10 s, and it may wait in a queue. */
const ANSWER_MS = 25_000;
const GROWS_MB = 300;
const CHILD_MB = 256;
const say = (line: string) => process.stdout.write(`${line}\n`);

type Inspection = JobReply<"inspect">;
type Finding = { n: number; mutant: Mutant; what: string };

const caseOf = (seed: number, n: number, files: readonly MediaFile[]): Mutant => {
  const dice = diceOf(seed * 1_000_003 + n);
  return (n % REPAINTED_EVERY === 0 ? repaintedOf(dice, files) : undefined) ?? mutantOf(dice, files);
};

const inspected = (children: Children, bytes: Uint8Array, depth: "shallow" | "whole"): Promise<Ending | undefined> =>
  children.run(
    { job: "inspect", options: { depth }, source: inMemory([bytes]) },
    { share: "fuzz", account: "fuzz" },
    new AbortController().signal,
    () => undefined,
  );

const sameOf = ({ kind, width, height, ms }: Inspection) => JSON.stringify({ kind, width, height, ms });

/** The faults of a result. @param before the result of the unchanged file */
const faultOf = (mutant: Mutant, ending: Ending | undefined, depth: string, before: Ending | undefined): string | undefined => {
  // Nothing is known about a file that received no processor time.
  if (ending === undefined || (ending.kind === "over" && (ending.why === "starved" || ending.why === "unborn"))) return undefined;
  const isBoundPassed = ending.kind === "over" && (ending.why === "cpu" || ending.why === "wall" || ending.why === "memory");
  if (isBoundPassed && mutant.file.isBomb) return undefined;
  if (ending.kind === "over") return `${depth}: its child passed a bound or ended: ${ending.why}`;
  if (ending.kind === "denied") return `${depth}: ${String(ending.fault)}`;
  if (before?.kind !== "done") return undefined;
  const was = sameOf(before.reply as Inspection);
  const is = ending.kind === "done" ? sameOf(ending.reply as Inspection) : ending.message;
  return is === was ? undefined : `${depth}: it was ${was}, and with other pixels or samples it is ${is}`;
};

const inChild = async (children: Children, mutant: Mutant, befores: Map<string, Ending | undefined>): Promise<string[]> => {
  const faults: string[] = [];
  const isRepainted = mutant.how[0] === "payload";
  for (const depth of ["shallow", "whole"] as const) {
    const name = `${mutant.file.name} ${depth}`;
    if (isRepainted && !befores.has(name)) befores.set(name, await inspected(children, mutant.file.bytes, depth));
    const fault = faultOf(
      mutant,
      await inspected(children, mutant.bytes, depth),
      depth,
      isRepainted ? befores.get(name) : undefined,
    );
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
};

/** Serves each mutated file at a separate URL, every second one with range requests. */
const serveFiles = () => {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      const bytes = files.get(pathname);
      if (!bytes) return new Response(null, { status: 404 });
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
      if (!range || pathname.endsWith("1")) return new Response(bytes);
      const [start, end] = [Number(range[1]), Math.min(bytes.length, range[2] === "" ? bytes.length : Number(range[2]) + 1)];
      if (start >= bytes.length)
        return new Response(null, { status: 416, headers: { "content-range": `bytes */${bytes.length}` } });
      return new Response(bytes.subarray(start, end), {
        status: 206,
        headers: { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` },
      });
    },
  });
  return { files, host: `127.0.0.1:${server.port}`, stop: () => server.stop(true) };
};

const FIELDS = { image: "image_urls", video: "video_urls", audio: "audio_urls" } as const;
/** The allowed responses to a request with arbitrary media. */
const MAY_ANSWER = new Set([202, 402, 422, 429]);

const asInput = async (
  place: Place,
  served: ReturnType<typeof serveFiles>,
  { file, bytes }: Mutant,
  n: number,
): Promise<string[]> => {
  const path = `/file/${n}/${n % 2}`;
  served.files.set(path, bytes);
  const atMs = performance.now();
  const input = { prompt: "a kite", resolution: "480p", duration: 4, [FIELDS[file.field]]: [`http://${served.host}${path}`] };
  const { status, body } = await post(place.nodes[0]?.url ?? "", place.orderer, { model: "vidmodel-2.5", input });
  const tookMs = performance.now() - atMs;
  if (status !== 202) served.files.delete(path);
  const faults: string[] = [];
  if (!MAY_ANSWER.has(status)) faults.push(`as an input: ${status} ${body.slice(0, 300)}`);
  if (tookMs > ANSWER_MS) faults.push(`as an input: it was answered after ${Math.round(tookMs)} ms`);
  return faults;
};

const report = (findings: readonly Finding[], seed: number): void => {
  if (findings.length === 0) return;
  const dir = makeScratch("fuzz-media-");
  keepScratch(dir);
  for (const { n, mutant, what } of findings.slice(0, 20)) {
    const path = join(dir, `${seed}-${n}.bin`);
    writeFileSync(path, mutant.bytes);
    say(`       case ${n}, ${mutant.file.name} (${mutant.how.join(", ")}), ${mutant.bytes.length} bytes: ${what}`);
    say(`       kept as ${path}; again: npm run fuzz -- --media 1 --seed ${seed} --case ${n}`);
  }
};

/** @returns the exit code */
export const fuzzMedia = async ({ cases, seed, only }: MediaPlan): Promise<number> => {
  const files = await mediaFiles();
  const numbers = only === undefined ? Array.from({ length: cases }, (_, n) => n) : [only];
  const children = createChildPool({ workers: LANES });
  const served = serveFiles();
  const place = await openPlace(FROM_SOURCES, 1, { allowed: [served.host] });
  const findings: Finding[] = [];
  const befores = new Map<string, Ending | undefined>();
  const begunMs = performance.now();
  const ended = new Set<string>();
  for (const { child } of place.nodes) void child.ended.then(({ code, signal }) => ended.add(`it ended with ${code ?? signal}`));
  const resident = watchResident([process.pid, ...place.nodes.map(({ child }) => child.pid)], children.pids);
  let sent = 0;
  let next = 0;
  const lane = async () => {
    for (let n = numbers[next++]; n !== undefined; n = numbers[next++]) {
      const mutant = caseOf(seed, n, files);
      for (const what of await inChild(children, mutant, befores)) findings.push({ n, mutant, what });
      if (n % SENT_EVERY !== 0 && only === undefined) continue;
      sent += 1;
      for (const what of await asInput(place, served, mutant, n)) findings.push({ n, mutant, what });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const memory = resident.stop();
  const unexpected = [...ended];
  await children.close();
  await place.close();
  await served.stop();
  const service = memory[1] ?? { beganMb: 0, peakMb: 0, childPeakMb: 0 };
  const child = Math.max(...memory.map(({ childPeakMb }) => childPeakMb));
  const verdicts: [boolean, string][] = [
    [findings.length === 0, `${numbers.length} changed files of ${files.length}: ${findings.length} findings`],
    [unexpected.length === 0, `the service lives${unexpected.map((one) => `: ${one}`).join("")}`],
    [
      service.peakMb - service.beganMb <= GROWS_MB,
      `the service grows by at most ${GROWS_MB} MB (${service.peakMb - service.beganMb} MB)`,
    ],
    [child < CHILD_MB, `each child stays below ${CHILD_MB} MB resident (${child} MB)`],
  ];
  for (const [holds, says] of verdicts) say(`${holds ? "(pass)" : "(fail)"} ${says}`);
  report(findings, seed);
  const failed = verdicts.filter(([holds]) => !holds).length;
  const seconds = Math.round((performance.now() - begunMs) / 1000);
  say(
    `figures ${JSON.stringify({ cases: numbers.length, files: files.length, sent, findings: findings.length, seconds, childPeakMb: child })}`,
  );
  say(`${verdicts.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
};
