// Request limit: raises the runtime's limit on concurrent requests before the service starts.
//
// All hosts share the limit, and the runtime reads it only when a process starts.

const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** The runtime's default limit. */
const UNRAISED = 256;

/**
 * How long the runtime's allocator keeps freed memory (ms), and how often it searches for free blocks between used blocks. By
 * default it returns memory at once and searches ten times a second. The next requests take the same memory again with a page
 * fault each. This costs a tenth of a service's time, and more on virtual machines, where a fault takes 50 µs. Memory that stays
 * free for so long was a peak, mostly of large results. The searches for free blocks cost a twentieth of each generation and
 * returned little memory.
 */
const KEEPS_FREED = { MIMALLOC_PURGE_DELAY: "15000", MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "60000" };

/**
 * The engine collects garbage when enough has been allocated. The runtime's additional collections, one for each listener, take a
 * tenth of a start. Submissions, whole generations and memory are the same without them.
 */
const ENGINE_COLLECTS = { BUN_GC_TIMER_DISABLE: "1" };

/** How many concurrent requests this process may have, to all hosts together. */
export const requestLimit = (): number => Number(process.env[VARIABLE]) || UNRAISED;

/**
 * Restarts this process in place (same pid, same streams) with a limit of `limit` concurrent requests, unless the variable is
 * already set. The runtime reads the variable once, before any code runs, and allows 256 without it. Must be called before
 * anything is opened. If the platform cannot replace a process, this returns false and the limit stays; the bulkheads of all
 * providers together stay below it. The restart also drops the variable that would print credentials with every request.
 */
export const raiseRequestLimit = (limit = 4096): boolean => {
  const { BUN_CONFIG_VERBOSE_FETCH: verbose, ...env } = process.env;
  if (env[VARIABLE] !== undefined && verbose === undefined) return true;
  if (process.platform === "win32" || process.execve === undefined) return false;
  // In a compiled binary the script is inside the executable and is not an argument.
  const script = process.argv[1]?.startsWith("/$bunfs/") ? [] : process.argv.slice(1, 2);
  const argv = [process.execPath, ...process.execArgv, ...script, ...process.argv.slice(2)];
  return process.execve(process.execPath, argv, { [VARIABLE]: String(limit), ...KEEPS_FREED, ...ENGINE_COLLECTS, ...env });
};
