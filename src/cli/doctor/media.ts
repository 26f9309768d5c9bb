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
          "no sandbox process can be started: submissions with links return 503, and results wait",
          "allow this user to start processes with 512 MB of address space each",
        ),
      ];
    if (held.limits && held.calls)
      return [
        ok(
          "media",
          `processes that read media are bounded in memory, time and system calls${held.network ? ", in a separate network namespace" : ""}`,
        ),
      ];
    const missing = [...(held.limits ? [] : ["memory and time"]), ...(held.calls ? [] : ["system calls"])].join(", ");
    return [
      warning(
        "media",
        `this system cannot limit sandbox processes (${missing}); the service monitors them and ends those that exceed a limit`,
        "run the service on Linux, x64 or arm64, with glibc or musl, if files of customers are not trusted",
      ),
    ];
  } finally {
    await sandbox.close();
  }
};
