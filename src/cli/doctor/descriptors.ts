// Doctor check of file descriptors: the process limit against the configured limits.
import type { Settings } from "../../config/schema.ts";
import { descriptorLimitOf, lowDescriptors } from "../../http/file-descriptors.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** @param pid of the running service; without it the limit of this process is checked, which the next start would have. */
export const descriptorFindings = ({ limits }: Pick<Settings, "limits">, pid?: number): Finding[] => {
  const limit = descriptorLimitOf(pid ?? "self");
  if (limit === undefined) return [];
  const low = lowDescriptors(limits.max_running, limit);
  if (low === undefined) return [ok("descriptors", `${limit} file descriptors at most`)];
  const fix = "LimitNOFILE=65536 in the unit, --ulimit nofile=65536 for a container, or ulimit -Hn; or lower limits.max_running";
  return [warning("descriptors", low, fix)];
};
