// Runs the command line in a child process, as an unprivileged user because root may write anywhere.
import { spawn } from "node:child_process";
import { PROGRAM } from "../built.ts";

/** The user `nobody`, if root runs the tests. */
const AS: { uid?: number; gid?: number } = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export type Output = { exit: number | null; out: Buffer; err: string };

const collected = (stream: NodeJS.ReadableStream): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve(Buffer.concat(chunks)));
    stream.on("error", reject);
  });

/** @param user `unprivileged`: the user `nobody` even if root runs the tests; `own`: the user of the tests. @param cwd directory */
export const runAs = async (
  user: "unprivileged" | "own",
  words: readonly string[],
  { cwd = "/", env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Output> => {
  const [command = "", ...before] = PROGRAM;
  const child = spawn(command, [...before, ...words], {
    ...(user === "unprivileged" ? AS : {}),
    cwd,
    env: { PATH: process.env.PATH ?? "", HOME: "/", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const [out, err] = await Promise.all([collected(child.stdout), collected(child.stderr)]);
  return { exit: await exit, out, err: err.toString() };
};
