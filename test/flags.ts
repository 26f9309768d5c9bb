// Flags of the test programs: a fault is printed in one line, and the program exits with 2.
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Prints the fault of the command line and exits with 2. */
export const refuse = (why: string): never => {
  process.stderr.write(`${why}; see --help\n`);
  process.exit(2);
};

type Flags = NonNullable<ParseArgsConfig["options"]>;

/** Parses the flags; the program exits when one is unknown. */
export const readFlags = <const Known extends Flags>(options: Known) => {
  try {
    return parseArgs({ options }).values;
  } catch (fault) {
    // The rest of the message is about arguments that begin with a dash, which these programs do not have.
    const [first = ""] = (fault instanceof Error ? fault.message : String(fault)).split(/\n|\. /);
    return refuse(first.replace(/\.$/, ""));
  }
};

/** A whole number of at least `least`. */
export const wholeOf = (flag: string, said: string, least = 1): number =>
  /^\d{1,15}$/.test(said) && Number(said) >= least
    ? Number(said)
    : refuse(`--${flag}: ${JSON.stringify(said)} is not a whole number of at least ${least}`);

/** A number above 0, fractions allowed. */
export const aboveZeroOf = (flag: string, said: string): number =>
  Number(said) > 0 && Number.isFinite(Number(said))
    ? Number(said)
    : refuse(`--${flag}: ${JSON.stringify(said)} is not a number above 0`);

/** Comma-separated names, each of which is one of `known`. */
export const namesOf = (flag: string, said: string, known: readonly string[]): string[] => {
  const names = said.split(",");
  const [strange] = names.filter((name) => !known.includes(name));
  return strange === undefined ? names : refuse(`--${flag}: there is no ${JSON.stringify(strange)}`);
};
