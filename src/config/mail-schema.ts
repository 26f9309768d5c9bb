// Schema of the settings of mail by SMTP.
import { Type } from "@sinclair/typebox";

export const MailSettings = Type.Object(
  {
    host: Type.String({
      default: "",
      pattern: "^[^\\s/@:]*$|^\\[?[0-9a-fA-F:]+\\]?$",
      expects: "a host name or an address without port, such as smtp.example.com",
      description:
        "SMTP server for invitations, password links, low balances, spend alerts and disabled webhook endpoints. If empty, no mail is sent",
    }),
    port: Type.Integer({ default: 587, minimum: 1, maximum: 65535, description: "port of the SMTP server" }),
    security: Type.Union([Type.Literal("starttls"), Type.Literal("tls"), Type.Literal("none")], {
      default: "starttls",
      description:
        "encryption of the connection: starttls requires it after the greeting (port 587), tls from the first byte (port 465), none never uses it",
    }),
    user: Type.String({ default: "", description: "user name at the SMTP server. If empty, mail is sent without a sign-in" }),
    password: Type.String({ default: "", secret: true, description: "password of the user at the SMTP server" }),
    from: Type.String({
      default: "",
      pattern: "^([^<>\\r\\n@]+<[^\\s<>@]+@[^\\s<>@]+>|[^\\s<>@]+@[^\\s<>@]+)?$",
      expects: "an address such as genrouter@example.com, or Name <genrouter@example.com>",
      description: "address that mails come from; required with mail.host",
    }),
  },
  { default: {}, additionalProperties: false },
);
