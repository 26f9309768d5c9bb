// What this build is: its version, the interface it speaks, and what it runs on.
import packageJson from "../../package.json" with { type: "json" };
import { INTERFACE_VERSION } from "../terms.ts";

export const VERSION: string = packageJson.version;

/** `genrouter 0.1.0 (interface 2026-10-19, bun 1.4.5, linux-x64)` */
export const versionLine = (): string =>
  `genrouter ${VERSION} (interface ${INTERFACE_VERSION}, bun ${Bun.version}, ${process.platform}-${process.arch})`;
