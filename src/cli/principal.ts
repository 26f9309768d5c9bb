// Who gives a command, as it is written beside what it changes: the user of this machine, and how that is told over the control socket.
import { userInfo } from "node:os";
import type { Principal } from "../store/mutations.ts";

/** Only the directory's owner can connect to the socket, so what is said here is believed: it tells two administrators apart, no more. */
export const BY_HEADER = "genrouter-by";

/** The user of this process; behind sudo the one who called it. */
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
