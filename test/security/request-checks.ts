// Security checks of requests: authentication, isolation, ids and bodies.
import type { Line } from "./table.ts";

const KEYS = "http-unit/keys.test.ts";
const RAW = "http-unit/raw.test.ts";
const CONTENT = "http-unit/content.test.ts";
const ENVELOPE = "http-unit/parse-submission.test.ts";
const BODY = "http-unit/body.test.ts";
const CODES = "api/codes.test.ts";
const LINKS = "files/links.test.ts";
const ISOLATION = "security/isolation.test.ts";
const LIST = "api/generation-list.test.ts";

export const REQUEST_CHECKS: readonly Line[] = [
  {
    area: "auth",
    line: "no header: 401",
    held: [
      [KEYS, "no header"],
      [CODES, "unauthorized: is returned for a missing"],
    ],
  },
  {
    area: "auth",
    line: "Bearer without a key, Basic: 401",
    held: [
      [KEYS, "the scheme and a blank"],
      [KEYS, "another scheme"],
    ],
  },
  { area: "auth", line: "the scheme in any case passes", held: [[KEYS, "accepts the authentication scheme written as %p"]] },
  {
    area: "auth",
    line: "two Authorization headers: 401",
    held: [
      [RAW, "returns 401 for two Authorization headers"],
      [KEYS, "two keys in one header"],
    ],
  },
  { area: "auth", line: "a key of 10 kB: 401", held: [[KEYS, "a key of 10 kB"]] },
  {
    area: "auth",
    line: "a revoked key: 401",
    held: [[CODES, "unauthorized: is returned for a missing, malformed, unknown or revoked key"]],
  },
  {
    area: "auth",
    line: "a paused account: 403 account_disabled",
    held: [[CODES, "account_disabled: is returned for every request with a key of a paused account"]],
  },
  {
    area: "auth",
    line: "a key for prices only: 403 generation_not_enabled",
    held: [[CODES, "generation_not_enabled: is returned for a submission with a read-only key"]],
  },
  {
    area: "auth",
    line: "GET /v1/models without a key",
    held: [["http-unit/public.test.ts", "lists the models without a key, with a key and with an invalid key"]],
  },
  { area: "auth", line: "a key in the query: 401", held: [[KEYS, "for a key in the query"]] },

  {
    area: "isolation",
    line: "a foreign id is 404, byte-equal to an unknown one, on every path",
    held: [
      [CODES, "not_found: is returned with the same bytes"],
      [CONTENT, "returns the same body for another account's generation"],
    ],
  },
  {
    area: "isolation",
    line: "a link for one generation does not open another",
    instead: "403, as for any altered link",
    held: [
      [CONTENT, "with %s returns 403"],
      [LINKS, "another generation"],
    ],
  },
  {
    area: "isolation",
    line: "an equal idempotency key of another account is independent",
    held: [["api/races.test.ts", "scopes an idempotency key to its account"]],
  },
  { area: "isolation", line: "1,000 random ids: 404", held: [[ISOLATION, "for 1,000 unknown ids"]] },
  {
    area: "isolation",
    line: "no difference in time",
    instead: "tested by equal store reads in equal order, not by time",
    held: [[ISOLATION, "costs the same single store read"]],
  },
  {
    area: "isolation",
    line: "a list contains generations of the account only, of a limited key its own only",
    held: [
      [LIST, "lists the generations of the account as polls show them"],
      [LIST, "lists for a key with limits or models only what the key made"],
    ],
  },
  {
    area: "isolation",
    line: "a cursor that is made up, foreign or of another list: 400 with one message",
    held: [
      [LIST, "a cursor that is not of the list is 400"],
      ["api/account.test.ts", "rejects a cursor that was made up, of another account, or of other filters"],
    ],
  },
  {
    area: "isolation",
    line: "usage and ledger with a limited key: 403",
    held: [["api/account.test.ts", "usage and ledger are 403 for a key with limits or models"]],
  },
  {
    area: "isolation",
    line: "a quote names no route and no provider",
    held: [["api/quotes.test.ts", "counts the routes that are not planned by reason"]],
  },

  {
    area: "ids",
    line: "../, %2e%2e%2f, %00, 81 characters, unicode: 404 and no file",
    held: [
      [CONTENT, "returns 404 for the malformed id %s"],
      ["api/files.test.ts", "returns 404 for the id %s"],
      ["files/local.test.ts", "rejects the id %p without access outside the directory"],
    ],
  },
  {
    area: "ids",
    line: "n of 1, 0, 100, 2.0, +2 or other digits: 404",
    held: [[CONTENT, "returns 404 for an n other than 2 to 99 in plain digits"]],
  },

  {
    area: "body",
    line: "1,048,576 bytes pass, one more is 413, in chunks too",
    held: [
      [BODY, "accepts a body of exactly 1,048,576 bytes"],
      [BODY, "rejects a body of %d bytes"],
    ],
  },
  {
    area: "body",
    line: "a wrong or absent Content-Type",
    instead: "JSON is read whatever the header says",
    held: [[ENVELOPE, "any Content-Type: %p"]],
  },
  { area: "body", line: "a gzip body: 400", held: [[ENVELOPE, "a gzip body"]] },
  { area: "body", line: "50,000 levels: 400", held: [[ENVELOPE, "50,000 levels"]] },
  {
    area: "body",
    line: "a key given twice: the last counts",
    held: [["api/envelope.test.ts", "a repeated key, of which the last counts"]],
  },
  {
    area: "body",
    line: "__proto__ and constructor are unknown fields",
    held: [
      [ENVELOPE, "__proto__ in place of the fields"],
      [ENVELOPE, "__proto__ inside input, which remains a member"],
    ],
  },
  {
    area: "body",
    line: "unknown at the top 400, unknown in input 422",
    held: [
      ["api/envelope.test.ts", "an unknown top-level field"],
      ["quote/input.test.ts", "not a known field"],
    ],
  },
  {
    area: "body",
    line: "half a surrogate pair: 422, in the envelope 400",
    held: [
      ["api/extended.test.ts", "prompt: half a surrogate pair"],
      [ENVELOPE, "model with half a surrogate pair"],
    ],
  },
  {
    area: "body",
    line: "max_cost_usd beyond numbers, -0, 0, 100.01: 400",
    held: [[ENVELOPE, "must be a number greater than 0"]],
  },
  {
    area: "body",
    line: 'seed 4294967296, duration "5" and 5.5: 422; 5.0 passes',
    held: [
      ["api/common.test.ts", "§2.7 validates %s"],
      ["quote/input.test.ts", 'JSON.parse("5.0")'],
    ],
  },
];
