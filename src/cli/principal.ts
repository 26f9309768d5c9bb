// Principal of a command: the user of this machine, sent over the control socket.
//
// It is recorded with each change.
import { userInfo } from "node:os";
import type { Principal } from "../domain/mutations.ts";

/**
 * The header is trusted, because only the owner of the directory can connect. It only distinguishes administrators from each
 * other.
 */
export const BY_HEADER = "genrouter-by";

/** User of this process; under sudo, the user who called it. */
export const commandActor = (env: Record<string, string | undefined> = process.env): Principal => {
  const uid = String(process.getuid?.() ?? "unknown");
  if (env.SUDO_USER !== undefined && env.SUDO_UID !== undefined && uid === "0")
    return { kind: "command", id: env.SUDO_UID, name: `${env.SUDO_USER} (sudo)` };
  try {
    return { kind: "command", id: uid, name: userInfo().username };
  } catch {
    // A container may run as a user without a name.
    return { kind: "command", id: uid, name: `uid ${uid}` };
  }
};

export const actorToHeader = ({ id, name }: Principal): string => `${id} ${encodeURIComponent(name)}`;
export const actorOfHeader = (header: string | null): Principal => {
  const [, id = "unknown", name = "a%20command"] = /^(\w{1,20}) ([\w%.()~!*'-]{1,200})$/.exec(header ?? "") ?? [];
  try {
    return { kind: "command", id, name: decodeURIComponent(name) };
  } catch {
    return { kind: "command", id, name: "a command" };
  }
};
