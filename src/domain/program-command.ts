// The command with which a person starts this program in a shell, for hints.

/** Defined by the build (scripts/compile.mjs); undefined when run from source. */
declare const BUILD_TARGET: string;

/** The binary, which is on the PATH where it is installed. From source, the script of the package. */
export const PROGRAM_COMMAND = typeof BUILD_TARGET === "string" ? "genrouter" : "npm run -s genrouter --";
