// Keeps the thread busy for so much processor time, however long that takes on a machine that has more to do.

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

export const compute = (ms: number): void => {
  const end = usedMs() + ms;
  while (usedMs() < end);
};
