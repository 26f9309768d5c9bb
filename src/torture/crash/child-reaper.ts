// Sees to it that no process of the tests outlives them, however they end: a shell that hears of each and notices our end.

/** Keeps the list of what runs; when its input ends, whoever held the other end is gone, and so has to be the rest. */
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
  // It waits for us, not we for it.
  shell.unref();
  return shell.stdin;
};
let ear: ReturnType<typeof begin> | null | undefined;

const tell = async (line: string): Promise<void> => {
  try {
    if (ear === undefined) ear = begin();
    await ear?.write(`${line}\n`);
    await ear?.flush();
  } catch {
    // Without a shell the exit of this process is the only guard.
    ear = null;
  }
};

export const childReaper = {
  began: (pid: number): void => void tell(`began ${pid}`),
  /** A number that is free again may be given to anybody, so it has to leave the list. */
  ended: (pid: number): void => void tell(`ended ${pid}`),
};
