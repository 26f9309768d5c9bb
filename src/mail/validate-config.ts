// Validates the mail settings: complete, and without a password that would cross a network unencrypted.
import { BadSetting, PREFIX, type Settings } from "../config/schema.ts";

export type MailSettings = Settings["mail"];

const nameOf = (member: keyof MailSettings): string => `${PREFIX}MAIL__${member.toUpperCase()}`;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

export const isMailSet = ({ host }: Pick<MailSettings, "host">): boolean => host !== "";

/** @throws BadSetting one line that names the setting and what to do */
export const requireMailSettings = ({ mail }: Pick<Settings, "mail">): void => {
  const { host, from, user, password, security } = mail;
  const others = (["from", "user", "password"] as const).filter((member) => mail[member] !== "");
  if (!isMailSet(mail)) {
    const [other] = others;
    if (other === undefined) return;
    throw new BadSetting(`${nameOf("host")}: is missing, so no mail could be sent; set it, or unset ${nameOf(other)}`);
  }
  if (from === "")
    throw new BadSetting(
      `${nameOf("from")}: is missing; set the address that mails come from, for example genrouter@${LOOPBACK.test(host) ? "example.com" : host}`,
    );
  if ((user === "") !== (password === "")) {
    const [missing, set] = user === "" ? (["user", "password"] as const) : (["password", "user"] as const);
    throw new BadSetting(`${nameOf(missing)}: is missing; set it, or unset ${nameOf(set)} for a server without a sign-in`);
  }
  if (security === "none" && password !== "" && !LOOPBACK.test(host))
    throw new BadSetting(
      `${nameOf("security")}: none would send the password to ${host} unencrypted; use starttls (port 587) or tls (port 465)`,
    );
};
