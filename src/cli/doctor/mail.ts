// Doctor check of mail: the connection to the SMTP server, with the sign-in.
import type { Settings } from "../../config/schema.ts";
import { createSmtp, type SmtpOptions } from "../../mail/smtp.ts";
import { isMailSet, requireMailSettings } from "../../mail/validate-config.ts";
import { type Finding, fault, ok, textOf } from "./finding.ts";

/** @param options set by tests only */
export const mailFindings = async (settings: Pick<Settings, "mail">, options?: SmtpOptions): Promise<Finding[]> => {
  try {
    requireMailSettings(settings);
  } catch (thrown) {
    return [fault("mail", textOf(thrown), "correct the settings of mail: genrouter config check")];
  }
  if (!isMailSet(settings.mail)) return [];
  const { host, port, security, from } = settings.mail;
  const why = await createSmtp(settings.mail, options).check();
  return why === undefined
    ? [ok("mail", `${host}:${port} accepts connections and the sign-in (security: ${security}); mails come from ${from}`)]
    : [
        fault(
          "mail",
          `${host}:${port} cannot be used (security: ${security}): ${why}`,
          "check GENROUTER_MAIL__HOST, __PORT, __SECURITY, __USER and __PASSWORD, and the firewall; starttls usually has port 587, tls port 465",
        ),
      ];
};
