// Sends one mail by SMTP, and separates permanent failures from those that a later try can change.
import type { MailSettings } from "./validate-config.ts";

export type Mail = { to: string; subject: string; text: string };
/** `isFinal`: the same mail would fail again. */
export type MailOutcome = { kind: "sent" } | { kind: "failed"; reason: string; isFinal: boolean };
export type Smtp = {
  send(mail: Mail): Promise<MailOutcome>;
  /** Connects and signs in. @returns why that fails; undefined if it works */
  check(): Promise<string | undefined>;
};

/** `ca`: an additional certificate authority, set by tests only. */
export type SmtpOptions = { timeoutMs?: number; ca?: string };

/** Maximum time of each step in milliseconds: connection, greeting, and every response. */
const STEP_MS = 15_000;
/** A response of 5xx to the addresses or to the text is permanent. One to STARTTLS or to the sign-in may be corrected at the server. */
const FIRST_PERMANENT = 500;
const OF_THE_MAIL: ReadonlySet<string | undefined> = new Set(["EENVELOPE", "EMESSAGE"]);

type SmtpFault = Error & { code?: string; responseCode?: number };

/** One line without control characters, which a server could put into the log. */
const lineOf = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 300);

const asFailure = (fault: SmtpFault): MailOutcome => {
  const isFinal = OF_THE_MAIL.has(fault.code) && (fault.responseCode ?? 0) >= FIRST_PERMANENT;
  return { kind: "failed", reason: lineOf(fault.message), isFinal };
};

export const createSmtp = (settings: MailSettings, { timeoutMs = STEP_MS, ca }: SmtpOptions = {}): Smtp => {
  const { host, port, user, password, from, security } = settings;
  const transport = async () => {
    // Loaded by the first mail, because most services send none.
    const { createTransport } = await import("nodemailer");
    return createTransport({
      host,
      port,
      secure: security === "tls",
      requireTLS: security === "starttls",
      ignoreTLS: security === "none",
      tls: { minVersion: "TLSv1.2", ...(ca === undefined ? {} : { ca }) },
      ...(user === "" ? {} : { auth: { user, pass: password } }),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      // A text of the service never names a file or a URL to attach.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  return {
    send: async ({ to, subject, text }) => {
      try {
        const open = await transport();
        await open.sendMail({ from, to, subject, text, headers: { "Auto-Submitted": "auto-generated" } });
        return { kind: "sent" };
      } catch (fault) {
        return asFailure(fault as SmtpFault);
      }
    },
    check: async () => {
      try {
        await (await transport()).verify();
        return undefined;
      } catch (fault) {
        return lineOf((fault as SmtpFault).message);
      }
    },
  };
};
