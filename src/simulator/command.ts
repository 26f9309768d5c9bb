// `genrouter simulator`: runs a separate simulator and prints the settings for a service.
import { parseArgs } from "node:util";
import { anyKeys, settingsLeadingTo } from "./dialect-registry.ts";
import { createSimulator, type SimulatorOptions } from "./simulator.ts";

const HELP = `Usage: genrouter simulator [--port N] [--host H] [--speed X] [--seed N] [--log FILE]

Runs a server that speaks the dialects of the upstream providers and delivers real files.
  --port N     port to listen on; 0 takes a free one (default 8090)
  --host H     address to listen on (default 127.0.0.1)
  --speed X    1 = a picture in about 2 s, a 5 s clip in about 6 s; 100 = a hundred times faster (default 1)
  --seed N     decides times and looks (default 1)
  --log FILE   keep what arrives in FILE, one JSON line each, and continue its jobs after a restart
`;

/** Parses the number of a flag. @returns the number, or the error message */
const numberFlag = (name: string, declared: string, ok: (n: number) => boolean, allowed: string): number | string => {
  const n = declared.trim() === "" ? Number.NaN : Number(declared);
  return ok(n) ? n : `--${name}: ${JSON.stringify(declared)} is not ${allowed}`;
};

/**
 * Runs until SIGTERM or SIGINT. @returns the exit code: 0 after a stop, 2 for an invalid flag, 1 if the address or the log cannot
 * be opened.
 */
export const runSimulator = async (
  args: readonly string[],
  endpoints: Pick<SimulatorOptions, "kindOf" | "unsaid"> = {},
): Promise<number> => {
  let flags: { port: string; host: string; speed: string; seed: string; log?: string; help: boolean };
  try {
    flags = parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: "8090" },
        host: { type: "string", default: "127.0.0.1" },
        speed: { type: "string", default: "1" },
        seed: { type: "string", default: "1" },
        log: { type: "string" },
        help: { type: "boolean", default: false, short: "h" },
      },
    }).values;
  } catch (cause) {
    console.error(`${cause instanceof Error ? cause.message : cause}\n\n${HELP}`);
    return 2;
  }
  if (flags.help) {
    console.log(HELP);
    return 0;
  }
  const port = numberFlag("port", flags.port, (n) => Number.isInteger(n) && n >= 0 && n <= 65_535, "a port from 0 to 65535");
  const speed = numberFlag("speed", flags.speed, (n) => n > 0 && n <= 100_000, "a number above 0, at most 100000");
  const seed = numberFlag("seed", flags.seed, (n) => Number.isSafeInteger(n) && n >= 0, "a whole number from 0");
  for (const flag of [port, speed, seed]) {
    if (typeof flag !== "string") continue;
    console.error(flag);
    return 2;
  }
  const stopped = Promise.withResolvers<void>();
  try {
    const options = { port: Number(port), host: flags.host, speed: Number(speed), seed: Number(seed), log: flags.log ?? null };
    const simulator = await createSimulator({ ...options, ...endpoints });
    console.log(`simulator ${simulator.url}`);
    const { GENROUTER_MEDIA__ALLOW: allowed, ...addresses } = settingsLeadingTo(simulator.url);
    for (const line of Object.entries({ ...addresses, ...anyKeys() }).sort()) console.log(line.join("="));
    console.log(`GENROUTER_MEDIA__ALLOW=${allowed}`);
    const stop = () => stopped.resolve();
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
    await stopped.promise;
    await simulator.stop();
    return 0;
  } catch (cause) {
    console.error(`the simulator cannot run: ${cause instanceof Error ? cause.message : cause}`);
    return 1;
  }
};
