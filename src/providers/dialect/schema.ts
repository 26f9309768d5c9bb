// Schema of a dialect file: requests, responses and lookup of one provider.
import { type Static, Type } from "@sinclair/typebox";
import type { Json } from "../../domain/types.ts";
import { FailureRule, Pointer } from "./error-rules.ts";

const closed = { additionalProperties: false } as const;
const seconds = (description: string) => Type.Integer({ minimum: 1, maximum: 7_776_000, description: `seconds: ${description}` });
const origin = Type.String({
  pattern: "^https://(\\*\\.)?[a-z0-9.-]+(:[0-9]+)?$",
  description: "an origin such as https://api.example.com, or https://*.example.com for all below it",
});
/** Any JSON; `template.ts` documents its placeholders and operators. */
const Template = Type.Unsafe<Json>(
  Type.Unknown({ description: "JSON with placeholders such as {input.prompt} and operators such as $when" }),
);
const Texts = Type.Record(Type.String(), Type.String());

export const RequestSchema = Type.Object(
  {
    method: Type.Optional(Type.Union(["GET", "POST", "PUT", "DELETE"].map((word) => Type.Literal(word)))),
    path: Type.Optional(
      Type.String({
        pattern: "^/",
        description: "path below the base URL; inserted values are percent-encoded, except for their slashes",
      }),
    ),
    url: Type.Optional(Type.String({ description: "instead of a path: an address that the provider gave, e.g. {job.poll}" })),
    query: Type.Optional(Type.Record(Type.String(), Template)),
    headers: Type.Optional(Texts),
    body: Type.Optional(Template),
    form: Type.Optional(Type.Record(Type.String(), Template, { description: "instead of a body: multipart/form-data" })),
  },
  closed,
);

/** The location of files in a response. */
const ResultSchema = Type.Object(
  {
    at: Type.Optional(Pointer),
    /** Instead of a pointer: a path that contains the job's id. */
    path: Type.Optional(Type.String({ pattern: "^/" })),
    as: Type.Optional(
      Type.Union(
        ["url", "base64", "hex", "body"].map((word) => Type.Literal(word)),
        {
          description: "url: an address (the default); base64, hex: the file itself as text; body: the whole answer is the file",
        },
      ),
    ),
    mime: Type.Optional(Type.String({ description: "where the answer does not say it" })),
    mime_at: Type.Optional(Pointer),
    kept_s: Type.Optional(seconds("how long the file can be fetched, from the answer on")),
  },
  closed,
);
const Results = Type.Array(ResultSchema, { minItems: 1, description: "all files that are found, in this order" });

const STATES = ["pending", "succeeded", "ask_result", "failed", "refused_input", "refused_output", "gone"] as const;
const State = Type.Union(STATES.map((word) => Type.Literal(word)));

const Withheld = Type.Array(
  Type.Object(
    { at: Pointer, is: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean()]), { minItems: 1 })) },
    closed,
  ),
  {
    minItems: 1,
    description:
      "flags of the provider's safety filter beside the files of a success: with one of these values (true when absent) at any of these places it is a refused output",
  },
);

/** The reading of a job's response, from its status address or its result address. */
const AnswerSchema = {
  request: RequestSchema,
  job_id: Type.Optional(Pointer),
  status: Type.Optional(Pointer),
  states: Type.Optional(
    Type.Record(Type.String(), State, {
      description: "the provider's word, as text, to ours; one that is not here is asked about again",
    }),
  ),
  results: Type.Optional(Results),
  withheld: Type.Optional(Withheld),
  empty: Type.Optional(
    Type.Union([Type.Literal("result_unreadable"), Type.Literal("refused_output"), Type.Literal("job_failed")], {
      description: "what a success without a file means; absent: result_unreadable",
    }),
  ),
};

const PollSchema = Type.Object({ ...AnswerSchema, request: RequestSchema }, closed);

const Next = Type.Union(
  [
    Type.Object(
      {
        page_from: Type.Integer({ minimum: 0 }),
        step: Type.Optional(Type.Integer({ minimum: 1 })),
        most: Type.Integer({ minimum: 1 }),
      },
      closed,
    ),
    Type.Object({ cursor: Pointer }, closed),
    Type.Object({ url: Pointer }, closed),
  ],
  {
    description:
      "page_from: pages are counted (or items, with step), `most` items are asked for, and the list is at its end where none come; cursor, url: what the answer says",
  },
);

const windows = {
  window_s: seconds("how long a lost submission can be found, from its sending"),
  settle_s: seconds("how long it must be absent, from when its answer was given up, before that is proof"),
};
export const FindSchema = Type.Union([
  Type.Object(
    {
      by: Type.Union([Type.Literal("list_marker"), Type.Literal("list_match")]),
      request: RequestSchema,
      items: Pointer,
      job_id: Pointer,
      marker: Type.Optional(Pointer),
      input: Type.Optional(Pointer),
      sent: Type.Optional(Template),
      created: Type.Optional(
        Type.Object({ at: Pointer, in: Type.Union([Type.Literal("iso"), Type.Literal("s"), Type.Literal("ms")]) }, closed),
      ),
      is_newest_first: Type.Optional(Type.Boolean()),
      next: Type.Optional(Next),
      ...windows,
    },
    closed,
  ),
  Type.Object(
    {
      by: Type.Literal("client_id"),
      request: RequestSchema,
      job_id: Pointer,
      repeats: Type.Optional(Pointer),
      absent: Type.Array(FailureRule),
      ...windows,
    },
    closed,
  ),
  Type.Object({ by: Type.Literal("key"), ...windows }, closed),
  Type.Object(
    {
      by: Type.Literal("none"),
      told_within_s: Type.Optional(seconds("with callbacks: how long one of a lost submission is waited for, from its sending")),
      certainly_dead_after_s: Type.Optional(seconds("when no lost job can still run")),
    },
    closed,
  ),
]);

const AuthSchema = Type.Union([
  Type.Object(
    {
      header: Type.String({ pattern: "^[a-z0-9-]+$" }),
      value: Type.String({ pattern: "\\{key\\}", description: "e.g. Bearer {key}" }),
    },
    closed,
  ),
  Type.Object(
    { jwt_hs256: Type.Object({ lives_s: Type.Integer({ minimum: 60, maximum: 86_400 }) }, closed) },
    { ...closed, description: "the key is ID:SECRET; a token of the id, signed with the secret, is made for each request" },
  ),
]);

const mostMb = Type.Integer({ minimum: 1, maximum: 10_240, description: "the largest file that it takes so, MB" });
/** The way files reach a provider that cannot download them from this service. */
const UploadSchema = Type.Union([
  Type.Object(
    { inline: Type.Union([Type.Literal("data_uri"), Type.Literal("base64")]), most_mb: mostMb },
    { ...closed, description: "the bytes stand in the request in the place of a link, as text" },
  ),
  Type.Object(
    {
      path: Type.String({ pattern: "^/", description: "below the base address: takes multipart/form-data" }),
      field: Type.String({ minLength: 1, description: "the part that holds the file" }),
      form: Type.Optional(Texts),
      url: Pointer,
      most_mb: mostMb,
    },
    { ...closed, description: "sent to the provider's storage before the submission; url: where the answer names its address" },
  ),
]);

export const DialectSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    id: Type.String({ pattern: "^[a-z][a-z0-9_-]{0,39}$" }),
    account: Type.Optional(
      Type.String({
        pattern: "^[a-z][a-z0-9_-]{0,39}$",
        description: "whose key it uses, where one key opens several interfaces",
      }),
    ),
    name: Type.String({ minLength: 1, maxLength: 80 }),
    known: Type.Object(
      {
        as_of: Type.String({ pattern: "^20[0-9]{2}-[0-9]{2}-[0-9]{2}$" }),
        from: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description: "where it was read" }),
        not_verified: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
      },
      closed,
    ),
    base_url: Type.String({ pattern: "^https://[^\\s?#]+[^/]$" }),
    hosts: Type.Optional(Type.Array(origin, { description: "further origins that may be given the key" })),
    auth: AuthSchema,
    files_need_key: Type.Optional(Type.Boolean({ description: "files on the provider's own hosts are fetched with the key" })),
    submit_timeout_s: Type.Optional(seconds("the longest wait for the answer to a submission; 30 when absent")),
    largest_answer_mb: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
    poll_every_s: Type.Optional(Type.Tuple([Type.Integer({ minimum: 1 }), Type.Integer({ minimum: 1 })])),
    watch_s: seconds("how long a job can be asked about after its submission"),
    result_kept_s: seconds("how long results can be fetched once announced"),
    headers: Type.Optional(Texts),
    submit: Type.Object(
      {
        request: RequestSchema,
        /** Asynchronous: the job in the response. */
        accepted: Type.Optional(
          Type.Object(
            {
              job_id: Pointer,
              poll_url: Type.Optional(Pointer),
              poll_path: Type.Optional(
                Type.String({
                  pattern: "^/",
                  description: "without a poll_url: where the job is asked about, where that needs the input",
                }),
              ),
              result_url: Type.Optional(Pointer),
              cancel_url: Type.Optional(Pointer),
            },
            closed,
          ),
        ),
        /** Synchronous: the files in the response. */
        results: Type.Optional(Results),
        withheld: Type.Optional(Withheld),
        job_id: Type.Optional(Pointer),
        empty: Type.Optional(Type.Union([Type.Literal("refused_output"), Type.Literal("job_failed")])),
      },
      closed,
    ),
    poll: Type.Optional(PollSchema),
    result: Type.Optional(PollSchema),
    cancel: Type.Optional(
      Type.Object(
        { request: RequestSchema, only_in: Type.Optional(Type.Array(Type.String(), { minItems: 1 })) },
        { ...closed, description: "only_in: the provider's states in which it may be asked; asked about first" },
      ),
    ),
    upload: Type.Optional(UploadSchema),
    callback: Type.Optional(
      Type.Object(
        { job_id: Pointer },
        { ...closed, description: "where a callback names the job; absent: where the answer to the submission does" },
      ),
    ),
    find: FindSchema,
    failures: Type.Array(FailureRule),
    billed: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        description:
          "pointers to what an answer says of its bill or its usage: a number above 0 at one of them, in an answer without a file, means that it may have been billed",
      }),
    ),
    says: Type.Array(Type.String(), { minItems: 1, description: "pointers to the words of an error" }),
  },
  { ...closed, title: "genrouter dialect file", description: "How one provider is spoken to." },
);
/** The schema as published for editors, the text of `catalogue/dialects/dialect.schema.json`. */
export const printedDialectSchema = (): string =>
  `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...DialectSchema }, null, 2)}\n`;

export type Dialect = Static<typeof DialectSchema>;
export type RequestTemplate = Static<typeof RequestSchema>;
export type ResultTemplate = Static<typeof ResultSchema>;
export type AnswerTemplate = Static<typeof PollSchema>;
export type UploadTemplate = Static<typeof UploadSchema>;
export type FindTemplate = Static<typeof FindSchema>;
