// Busy loop for a given amount of CPU time of the thread, regardless of the wall time.

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

export const compute = (ms: number): void => {
  const end = usedMs() + ms;
  while (usedMs() < end);
};
