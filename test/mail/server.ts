// A real SMTP server on a socket: it requires a sign-in and STARTTLS, stores mails, and fails as a test decides.
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { SELF_SIGNED } from "../providers/certificate.ts";

export type ReceivedMail = { from: string; to: string[]; user: string; isEncrypted: boolean; text: string };
export type MailServer = { port: number; received: ReceivedMail[]; stop(): Promise<void> };

export const MAIL_USER = "genrouter";
export const MAIL_PASSWORD = "a mail password";

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
};
/** The body as its reader sees it: quoted-printable decoded. */
export const bodyOf = (text: string): string => {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  if (!/quoted-printable/i.test(head)) return body;
  const bytes = body
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
};

export const openMailServer = async (options: SMTPServerOptions = {}, port = 0): Promise<MailServer> => {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    ...SELF_SIGNED,
    authMethods: ["PLAIN", "LOGIN"],
    onAuth: ({ username, password }, _session, answer) =>
      username === MAIL_USER && password === MAIL_PASSWORD
        ? answer(null, { user: username })
        : answer(new Error("wrong password")),
    onData: (stream, session, answer) => {
      const { mailFrom, rcptTo } = session.envelope;
      textOf(stream).then((text) => {
        received.push({
          ...{ from: mailFrom === false ? "" : mailFrom.address, to: rcptTo.map(({ address }) => address), text },
          ...{ user: String(session.user), isEncrypted: session.secure },
        });
        answer();
      }, answer);
    },
    ...options,
  });
  server.on("error", () => undefined);
  await new Promise<void>((open) => server.listen(port, "127.0.0.1", open));
  const address = server.server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    received,
    stop: () => new Promise((closed) => server.close(closed)),
  };
};

/** The settings of mail for such a server. */
export const mailEnv = (port: number, more: Record<string, string> = {}): Record<string, string> => ({
  GENROUTER_MAIL__HOST: "127.0.0.1",
  GENROUTER_MAIL__PORT: String(port),
  GENROUTER_MAIL__USER: MAIL_USER,
  GENROUTER_MAIL__PASSWORD: MAIL_PASSWORD,
  GENROUTER_MAIL__FROM: "genrouter <mail@example.com>",
  ...more,
});

/** A port with a listener that accepts connections and never says anything. */
export const openSilentServer = () => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  return { port: server.port, stop: () => server.stop(true) };
};
