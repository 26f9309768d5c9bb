// Doctor check of the media sandbox: starts one process and reports its active limits.
import { createSandbox } from "../../media/sandbox/sandbox.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

export const mediaFindings = async (): Promise<Finding[]> => {
  const sandbox = createSandbox({ workers: 1 });
  try {
    const held = await sandbox.held();
    if (!held)
      return [
        fault(
          "media",
          "no process can be started to read media with: submissions with links answer 503, and results wait",
          "let this user start processes, and let them have 512 MB of address space each",
        ),
      ];
    if (held.limits && held.calls)
      return [
        ok(
          "media",
          `processes that read media are bounded in memory, time and system calls${held.network ? ", in a network of their own" : ""}`,
        ),
      ];
    const missing = [...(held.limits ? [] : ["memory and time"]), ...(held.calls ? [] : ["system calls"])].join(", ");
    return [
      warning(
        "media",
        `this system does not bound processes that read media (${missing}): they are watched, and ended when they take too much`,
        "run the service on Linux, x64 or arm64, with glibc or musl, where customers' files are not to be trusted",
      ),
    ];
  } finally {
    await sandbox.close();
  }
};
