// Version of this build: release, interface, commit, runtime and platform.
import packageJson from "../../package.json" with { type: "json" };
import { INTERFACE_VERSION } from "../domain/types.ts";

/** Defined by the build (scripts/compile.mjs); undefined when run from source. */
declare const BUILD_REVISION: string;
declare const BUILD_TARGET: string;

export const VERSION: string = packageJson.version;
/** Short commit of the repository that this file is in; `unknown` if git does not know it. */
const checkedOutRevision = (dir: string): string => {
  const git = Bun.which("git");
  const asked = git === null ? undefined : Bun.spawnSync([git, "-C", dir, "rev-parse", "--short", "HEAD"], { stderr: "ignore" });
  return (asked?.success && asked.stdout.toString().trim()) || "unknown";
};
/** Short commit of the build, with `-dirty` if files differed from it; from source, the commit that is checked out. */
export const revision = (): string => (typeof BUILD_REVISION === "string" ? BUILD_REVISION : checkedOutRevision(import.meta.dir));
const TARGET: string = typeof BUILD_TARGET === "string" ? BUILD_TARGET : `${process.platform}-${process.arch}`;

/** `genrouter 0.1.0 (interface 2026-10-19, rev 1a2b3c4, bun 1.4.5, linux-x64)` */
export const versionLine = (): string =>
  `genrouter ${VERSION} (interface ${INTERFACE_VERSION}, rev ${revision()}, bun ${Bun.version}, ${TARGET})`;
