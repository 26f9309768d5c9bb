// `genrouter licenses`: prints the licenses of all components of the binary.
import type { Command } from "commander";
import { type Session, withExamples } from "../session.ts";

export const addLicenses = (program: Command, session: Session): void => {
  const licenses = program
    .command("licenses")
    .description("print the licences of genrouter and of everything inside the binary")
    .action(async () => {
      const { default: notices } = await import("../../../THIRD_PARTY_NOTICES.txt", { with: { type: "text" } });
      session.terminal.print(notices.trimEnd());
    });
  withExamples(licenses, "licenses", "licenses | grep -A1 '(MPL-2.0)'");
};
