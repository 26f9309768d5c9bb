// Runs seeds on several cores, with one process for each core.
//
// Each process runs its share of the seeds, and their results are summed.

/** The last output line of a process that was started with `--json`. */
export type ShareEnd = {
  firstSeed: number;
  seeds: number;
  failed: number | null;
  faults: string[];
  struck: Record<string, number>;
  figures: Record<string, number>;
};

/** @param words the program's arguments besides its share. `onReport` receives the progress of all processes. */
export const runOnCores = async (of: {
  first: number;
  count: number;
  cores: number;
  words: readonly string[];
  onReport: (done: number) => void;
}): Promise<ShareEnd[]> => {
  const done = new Array<number>(of.cores).fill(0);
  const share = Math.ceil(of.count / of.cores);
  const runShare = async (_: unknown, at: number): Promise<ShareEnd> => {
    const seeds = Math.min(share, of.count - at * share);
    const child = Bun.spawn(
      [
        ...[process.execPath, import.meta.path.replace(/parallel\.ts$/, "main.ts"), "--json", "--cores", "1"],
        ...["--seed", String(of.first + at * share), "--seeds", String(seeds), ...of.words],
      ],
      { stdout: "pipe", stderr: "inherit" },
    );
    let message = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      message += decoder.decode(chunk, { stream: true });
      const progress = [...message.matchAll(/^ {2}(\d+) of \d+ seeds/gm)].at(-1);
      done[at] = Number(progress?.[1] ?? 0);
      of.onReport(done.reduce((sum, one) => sum + one, 0));
    }
    await child.exited;
    const line = message.split("\n").find((text) => text.startsWith('{"firstSeed"'));
    if (!line) throw new Error(`a share of the seeds ended without a verdict:\n${message.slice(-2000)}`);
    return JSON.parse(line) as ShareEnd;
  };
  return await Promise.all(Array.from({ length: Math.min(of.cores, of.count) }, runShare));
};
