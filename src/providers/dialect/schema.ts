// Schema of a dialect file: requests, responses and lookup of one provider.
import { type Static, Type } from "@sinclair/typebox";
import { type Json, MEDIA_KINDS } from "../../domain/types.ts";
import { FailureRule, Pointer } from "./error-rules.ts";

const closed = { additionalProperties: false } as const;
const seconds = (description: string) => Type.Integer({ minimum: 1, maximum: 7_776_000, description: `seconds: ${description}` });
const origin = Type.String({
  pattern: "^https://(\\*\\.)?[a-z0-9.-]+(:[0-9]+)?$",
  description: "an origin such as https://api.example.com, or https://*.example.com for all subdomains",
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
        description: "path below the base URL; inserted values are percent-encoded, except slashes",
      }),
    ),
    url: Type.Optional(Type.String({ description: "instead of path: an address that the provider returned, e.g. {job.poll}" })),
    query: Type.Optional(Type.Record(Type.String(), Template)),
    headers: Type.Optional(Texts),
    body: Type.Optional(Template),
    form: Type.Optional(
      Type.Record(Type.String(), Template, { description: "instead of body: fields of a multipart/form-data body" }),
    ),
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
          description:
            "url (default): the address of the file; base64, hex: the encoded file; body: the complete response body is the file",
        },
      ),
    ),
    mime: Type.Optional(Type.String({ description: "the media type, if the response does not contain it" })),
    mime_at: Type.Optional(Pointer),
    kept_s: Type.Optional(seconds("time from the response during which the file can be downloaded")),
  },
  closed,
);
const Results = Type.Array(ResultSchema, {
  minItems: 1,
  description: "locations of the result files; all files that are found are used, in this order",
});

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
      "flags of the provider's safety filter in a successful response; if any location has one of these values (default: true), the result is refused_output",
  },
);

/** The reading of a job's response, from its status address or its result address. */
const AnswerSchema = {
  request: RequestSchema,
  job_id: Type.Optional(Pointer),
  status: Type.Optional(Pointer),
  states: Type.Optional(
    Type.Record(Type.String(), State, {
      description: "maps the provider's states, as text, to states of genrouter; a job in an unlisted state is polled again",
    }),
  ),
  results: Type.Optional(Results),
  withheld: Type.Optional(Withheld),
  empty: Type.Optional(
    Type.Union([Type.Literal("result_unreadable"), Type.Literal("refused_output"), Type.Literal("job_failed")], {
      description: "the class of a successful response without a file; default: result_unreadable",
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
      "page_from: number of the first page (with step: of the first item); each request is for `most` items, and an empty page ends the list; cursor, url: location of the next page in the response",
  },
);

const windows = {
  window_s: seconds("time from its sending during which a lost submission can be found"),
  settle_s: seconds("time from the loss of the response after which absence of the job is proof"),
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
      callback_within_s: Type.Optional(
        seconds("with callbacks: time from its sending during which the callback of a lost submission can arrive"),
      ),
      certainly_dead_after_s: Type.Optional(seconds("time from the sending after which a lost job cannot run any more")),
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
    { ...closed, description: "the key has the form ID:SECRET; each request has a token with the id, signed with the secret" },
  ),
]);

const bounds = {
  kinds: Type.Optional(
    Type.Array(Type.Union(MEDIA_KINDS.map((kind) => Type.Literal(kind))), {
      minItems: 1,
      description: "the kinds of files that the form is for; default: all",
    }),
  ),
  most_mb: Type.Integer({ minimum: 1, maximum: 10_240, description: "maximum size of a file, MB" }),
  total_mb: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_240, description: "maximum size of all such files of one request together, MB" }),
  ),
};
const InlineSchema = Type.Object(
  { inline: Type.Union([Type.Literal("data_uri"), Type.Literal("base64"), Type.Literal("part")]), ...bounds },
  {
    ...closed,
    description:
      "the request contains the file instead of a link: as a data URI, as base64, or as a part of its form; most_mb bounds the file before its encoding",
  },
);
const StorageSchema = Type.Object(
  {
    path: Type.String({ pattern: "^/", description: "path below the base URL" }),
    query: Type.Optional(Type.Record(Type.String(), Template)),
    headers: Type.Optional(Texts),
    field: Type.Optional(
      Type.String({ minLength: 1, description: "name of the part of a multipart/form-data body that is the file" }),
    ),
    form: Type.Optional(Type.Record(Type.String(), Template, { description: "further parts of that form" })),
    body: Type.Optional(
      Type.Unsafe<Json>(
        Type.Unknown({
          description: "JSON with placeholders such as {file.name}, {file.mime}, {file.data_uri}, {file.base64}, {new_uuid}",
        }),
      ),
    ),
    value: Pointer,
    send_to: Type.Optional(
      Type.Object(
        {
          method: Type.Union([Type.Literal("PUT"), Type.Literal("POST")]),
          url: Pointer,
          form: Type.Optional(Pointer),
          field: Type.Optional(Type.String({ minLength: 1 })),
        },
        {
          ...closed,
          description:
            "a second request with the file and without the key. PUT: the file is the body; POST: it is the part `field` of a form, after the texts at `form`. url, form: locations in the first response",
        },
      ),
    ),
    kept_s: Type.Optional(seconds("time after which the provider deletes the file, if it says so")),
    ...bounds,
  },
  {
    ...closed,
    description:
      "the file is uploaded to the provider's storage before the submission; value: location of its URL or id in the response, which the submission contains instead of the link",
  },
);
/** The way files reach a provider that cannot download them from this service. */
const UploadSchema = Type.Union([InlineSchema, StorageSchema]);
const UploadsSchema = Type.Union([UploadSchema, Type.Array(UploadSchema, { minItems: 1 })], {
  description:
    "how the provider receives files of genrouter where links cannot be used; of a list, a file takes the first form that is for it",
});

export const DialectSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    id: Type.String({ pattern: "^[a-z][a-z0-9_-]{0,39}$" }),
    account: Type.Optional(
      Type.String({
        pattern: "^[a-z][a-z0-9_-]{0,39}$",
        description: "the account whose key is used, if one key is valid for several interfaces",
      }),
    ),
    name: Type.String({ minLength: 1, maxLength: 80 }),
    known: Type.Object(
      {
        as_of: Type.String({ pattern: "^20[0-9]{2}-[0-9]{2}-[0-9]{2}$" }),
        from: Type.Array(Type.String({ minLength: 1 }), {
          minItems: 1,
          description: "sources, such as pages of the provider's documentation",
        }),
        not_verified: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
      },
      closed,
    ),
    base_url: Type.String({ pattern: "^https://[^\\s?#]+[^/]$" }),
    hosts: Type.Optional(Type.Array(origin, { description: "further origins that may receive the key" })),
    auth: AuthSchema,
    key_form: Type.Optional(
      Type.Object(
        { pattern: Type.String({ minLength: 1, maxLength: 200 }), example: Type.String({ minLength: 1, maxLength: 100 }) },
        {
          additionalProperties: false,
          description: "a regular expression that every key of the provider matches, and how a key looks",
        },
      ),
    ),
    files_need_key: Type.Optional(
      Type.Boolean({ description: "true: downloads of files from the provider's own hosts contain the key" }),
    ),
    submit_timeout_s: Type.Optional(seconds("timeout of a submission; default: 30")),
    largest_answer_mb: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
    poll_every_s: Type.Optional(Type.Tuple([Type.Integer({ minimum: 1 }), Type.Integer({ minimum: 1 })])),
    poll_least_s: Type.Optional(
      Type.Number({
        minimum: 0.1,
        description: "seconds: shortest interval between polls of a job around its usual end; default: half of the first",
      }),
    ),
    watch_s: seconds("time from its submission during which a job can be polled"),
    result_kept_s: seconds("time from its announcement during which a result can be downloaded"),
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
                  description: "instead of poll_url: path for polling a job, if the path depends on the input",
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
        { ...closed, description: "only_in: states of the provider in which a job can be cancelled; the job is polled before" },
      ),
    ),
    takes_links: Type.Optional(
      Type.Boolean({ description: "false: the provider downloads nothing; files reach it only as `upload` states" }),
    ),
    upload: Type.Optional(UploadsSchema),
    callback: Type.Optional(
      Type.Object(
        { job_id: Pointer },
        {
          ...closed,
          description: "location of the job id in a callback; default: the location in the response to the submission",
        },
      ),
    ),
    find: FindSchema,
    failures: Type.Array(FailureRule),
    billed: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        description:
          "locations of cost or usage in a response; a number above 0 in a response without a file means that the job may have been billed",
      }),
    ),
    says: Type.Array(Type.String(), { minItems: 1, description: "locations of the error text in a response" }),
  },
  { ...closed, title: "genrouter dialect file", description: "Requests and responses of the API of one provider." },
);
/** The schema as published for editors, the text of `catalogue/dialects/dialect.schema.json`. */
export const printedDialectSchema = (): string =>
  `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...DialectSchema }, null, 2)}\n`;

export type Dialect = Static<typeof DialectSchema>;
export type RequestTemplate = Static<typeof RequestSchema>;
export type ResultTemplate = Static<typeof ResultSchema>;
export type AnswerTemplate = Static<typeof PollSchema>;
export type UploadTemplate = Static<typeof UploadSchema>;
export type StorageTemplate = Static<typeof StorageSchema>;
export type FindTemplate = Static<typeof FindSchema>;
