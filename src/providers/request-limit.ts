// Raises the runtime's bound on requests in flight, which is shared by every host and can only be set when a process starts.

const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** What the runtime allows when nobody says otherwise. */
const UNRAISED = 256;

/**
 * How long the runtime's allocator keeps freed memory before it gives it back, ms, and how often it looks for free blocks between
 * blocks in use. By itself it gives back at once, and looks ten times a second, for what the next requests take again with a
 * page fault each: a tenth of a service's time, and more on virtual machines, where a fault costs 50 µs. What is free for so long
 * was a peak, of large results above all. Looks for holes cost a life a twentieth, and gave back little.
 */
const KEEPS_FREED = { MIMALLOC_PURGE_DELAY: "15000", MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "60000" };

/** How many requests this process may have in flight, to all hosts together. */
export const requestLimit = (): number => Number(process.env[VARIABLE]) || UNRAISED;

/**
 * Starts this process over in place (same pid, same streams) with room for `limit` requests in flight, unless the
 * variable is set already; the runtime reads it once, before any code runs, and allows 256 without it. To be called
 * before anything is opened. Where a process cannot be replaced it returns false and the bound stays: the pools of the
 * providers together stay below it. The start also drops the variable that would print credentials with every request.
 */
export const raiseRequestLimit = (limit = 4096): boolean => {
  const { BUN_CONFIG_VERBOSE_FETCH: verbose, ...env } = process.env;
  if (env[VARIABLE] !== undefined && verbose === undefined) return true;
  if (process.platform === "win32" || process.execve === undefined) return false;
  // In a compiled binary the script is inside the executable and is not an argument.
  const script = process.argv[1]?.startsWith("/$bunfs/") ? [] : process.argv.slice(1, 2);
  const argv = [process.execPath, ...process.execArgv, ...script, ...process.argv.slice(2)];
  return process.execve(process.execPath, argv, { [VARIABLE]: String(limit), ...KEEPS_FREED, ...env });
};
