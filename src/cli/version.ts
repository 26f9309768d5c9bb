// What this build is: its version, the interface it speaks, and what it runs on.
import packageJson from "../../package.json" with { type: "json" };
import { INTERFACE_VERSION } from "../terms.ts";

/** Put in by the build (scripts/compile.mjs); not there when it runs from its sources. */
declare const BUILD_REVISION: string;

export const VERSION: string = packageJson.version;
/** The short commit of the build, with `-dirty` when files differed from it; `unknown` outside a repository and from sources. */
export const REVISION: string = typeof BUILD_REVISION === "string" ? BUILD_REVISION : "unknown";

/** `genrouter 0.1.0 (interface 2026-10-19, bun 1.4.5, linux-x64)` */
export const versionLine = (): string =>
  `genrouter ${VERSION} (interface ${INTERFACE_VERSION}, bun ${Bun.version}, ${process.platform}-${process.arch})`;
