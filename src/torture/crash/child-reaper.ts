// Child reaper: a shell that kills all test processes when their parent ends.

/** Tracks the running processes. End of input means that the parent has ended, so the remaining processes are killed. */
const WARDEN = `
running=""
while read -r what pid; do
  kept=""
  for each in $running; do [ "$each" = "$pid" ] || kept="$kept $each"; done
  running=$kept
  [ "$what" = began ] && running="$running $pid"
done
for each in $running; do kill -9 "$each"; done
`;

const begin = () => {
  const shell = Bun.spawn(["sh", "-c", WARDEN], { stdin: "pipe", stdout: "ignore", stderr: "ignore", detached: true });
  // The shell waits for this process, not the reverse.
  shell.unref();
  return shell.stdin;
};
let ear: ReturnType<typeof begin> | null | undefined;

const report = async (line: string): Promise<void> => {
  try {
    if (ear === undefined) ear = begin();
    await ear?.write(`${line}\n`);
    await ear?.flush();
  } catch {
    // Without a shell the exit handler of this process is the only protection.
    ear = null;
  }
};

export const childReaper = {
  began: (pid: number): void => void report(`began ${pid}`),
  /** The system can reuse a process id, so it must leave the list. */
  ended: (pid: number): void => void report(`ended ${pid}`),
};
