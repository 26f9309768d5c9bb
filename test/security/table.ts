// Every line of the security checks, and the tests that hold it: file and a part of the test's name.

export type Held = readonly [file: string, name: string];
export type Line = {
  area: string;
  line: string;
  /** What is answered where the specification or its decisions say otherwise than the list that the line is from. */
  instead?: string;
  held: readonly Held[];
};

const KEYS = "http-unit/keys.test.ts";
const RAW = "http-unit/raw.test.ts";
const CONTENT = "http-unit/content.test.ts";
const ENVELOPE = "http-unit/envelope.test.ts";
const BODY = "http-unit/body.test.ts";
const CODES = "api/codes.test.ts";
const SSRF = "api/ssrf.test.ts";
const GUARD = "media/guard.test.ts";
const HOSTILE = "media/hostile.test.ts";
const LINKS = "files/links.test.ts";
const SCHEMA = "store/schema.test.ts";
const CANARY = "security/canary.test.ts";
const ISOLATION = "security/isolation.test.ts";
const PUBLIC = "security/public.test.ts";
const CROWDS = "security/crowds.test.ts";
const FUZZ = "fuzz/parts.ts";

export const LINES: readonly Line[] = [
  {
    area: "auth",
    line: "no header: 401",
    held: [
      [KEYS, "no header"],
      [CODES, "unauthorized: a key that is missing"],
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
  { area: "auth", line: "the scheme in any case passes", held: [[KEYS, "the scheme may be written %p"]] },
  {
    area: "auth",
    line: "two Authorization headers: 401",
    held: [
      [RAW, "a second Authorization is nobody's key"],
      [KEYS, "two keys in one header"],
    ],
  },
  { area: "auth", line: "a key of 10 kB: 401", held: [[KEYS, "a key of 10 kB"]] },
  {
    area: "auth",
    line: "a revoked key: 401",
    held: [[CODES, "unauthorized: a key that is missing, written wrong, unknown or revoked"]],
  },
  { area: "auth", line: "a paused account: 403 account_disabled", held: [[CODES, "account_disabled: every keyed request"]] },
  {
    area: "auth",
    line: "a key for prices only: 403 generation_not_enabled",
    held: [[CODES, "generation_not_enabled: a key that may read"]],
  },
  { area: "auth", line: "GET /v1/models without a key", held: [["http-unit/public.test.ts", "lists the models for anybody"]] },
  { area: "auth", line: "a key in the query: 401", held: [[KEYS, "for a key in the query"]] },

  {
    area: "isolation",
    line: "a foreign id is 404, byte-equal to an unknown one, on every path",
    held: [
      [CODES, "answered alike, byte for byte"],
      [CONTENT, "a foreign generation cannot be told"],
    ],
  },
  {
    area: "isolation",
    line: "a link for one generation does not open another",
    instead: "403, as any altered link",
    held: [
      [CONTENT, "with %s is 403"],
      [LINKS, "another generation"],
    ],
  },
  {
    area: "isolation",
    line: "a foreign idempotency key is independent",
    held: [["api/races.test.ts", "another account does not"]],
  },
  { area: "isolation", line: "1,000 random ids: 404", held: [[ISOLATION, "1,000 ids that nobody has"]] },
  {
    area: "isolation",
    line: "no difference in time",
    instead: "held by the same reads in the same order, not by a clock",
    held: [[ISOLATION, "one read of the store by row number"]],
  },

  {
    area: "ids",
    line: "../, %2e%2e%2f, %00, 81 characters, unicode: 404 and no file",
    held: [
      [CONTENT, "an id that is none is 404"],
      ["api/files.test.ts", "is nobody's generation"],
      ["files/local.test.ts", "names that are none"],
    ],
  },
  { area: "ids", line: "n of 1, 0, 100, 2.0, +2 or other digits: 404", held: [[CONTENT, "an n that is not plain digits"]] },

  {
    area: "body",
    line: "1,048,576 bytes pass, one more is 413, in chunks too",
    held: [
      [BODY, "exactly 1,048,576 bytes pass"],
      [BODY, "%d bytes are 413"],
    ],
  },
  {
    area: "body",
    line: "a wrong or absent Content-Type",
    instead: "JSON is read whatever the header says",
    held: [[ENVELOPE, "whatever the Content-Type says"]],
  },
  { area: "body", line: "a gzip body: 400", held: [[ENVELOPE, "a gzip body"]] },
  { area: "body", line: "50,000 levels: 400", held: [[ENVELOPE, "50,000 levels"]] },
  {
    area: "body",
    line: "a key given twice: the last counts",
    held: [["api/envelope.test.ts", "the last of two equal keys counts"]],
  },
  {
    area: "body",
    line: "__proto__ and constructor are unknown fields",
    held: [
      [ENVELOPE, "__proto__ in place of the fields"],
      [ENVELOPE, "stays a member that the quote room can refuse"],
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
      ["api/common.test.ts", "§2.7 %s"],
      ["quote/input.test.ts", 'JSON.parse("5.0")'],
    ],
  },

  {
    area: "ssrf",
    line: "34 addresses that are not public, of every range",
    held: [
      [GUARD, "%s is not public"],
      [GUARD, "a literal %s is refused"],
    ],
  },
  {
    area: "ssrf",
    line: "15 spellings of loopback",
    held: [
      [GUARD, "loopback written as %s is refused"],
      [SSRF, "%s is refused, directly and by redirect, and nobody connects"],
    ],
  },
  {
    area: "ssrf",
    line: "names that resolve to private addresses, or to one of each",
    held: [
      [SSRF, "with the guard"],
      [GUARD, "one private address among public ones spoils a name"],
    ],
  },
  {
    area: "ssrf",
    line: "a name that changes between two look-ups",
    held: [[GUARD, "sees nobody through a name that changes its address"]],
  },
  {
    area: "ssrf",
    line: "ports, schemes, user names, backslashes, dots, 4,097 characters",
    held: [
      [GUARD, "%s is refused"],
      ["api/extended.test.ts", "§2.6 %s"],
    ],
  },
  {
    area: "ssrf",
    line: "each field, in lists, as a redirect's target: 422 and no connection",
    held: [
      [SSRF, "%s input.%s is guarded"],
      [GUARD, "sees nobody by redirect"],
    ],
  },
  {
    area: "ssrf",
    line: "as a provider's result: the route fails and nobody connects",
    held: [["api/fallback.test.ts", "a result at a forbidden address is not fetched"]],
  },
  {
    area: "ssrf",
    line: "the listener would have seen somebody",
    held: [[SSRF, "without the guard the same listener sees somebody"]],
  },
  {
    area: "ssrf",
    line: "bombs, drips and 10 GB in bounded memory and time",
    held: [
      [HOSTILE, "index of a clip"],
      ["media/probe.test.ts", "at most 256 KiB of ranges"],
      ["media/collect.test.ts", "the deadline ends a drip"],
      ["media/collect-bounds.test.ts", "memory does not grow"],
    ],
  },

  {
    area: "http",
    line: "nine smuggling cases: refused and closed",
    held: [[RAW, "a request that could mean two things is refused"]],
  },
  {
    area: "http",
    line: "20 kB of headers, 300 headers: 431",
    held: [
      [RAW, "of 20 kB are refused by the runtime with 431"],
      [RAW, "300 of them are refused"],
    ],
  },
  { area: "http", line: "slow headers and bodies are closed", held: [[FUZZ, "connections that never finish are closed"]] },
  { area: "http", line: "2,000 idle connections and still answers", held: [[CROWDS, "2,000 connections that say nothing"]] },
  {
    area: "http",
    line: "other methods: 405 or 404 with JSON; HEAD is defined",
    held: [
      ["http-unit/public.test.ts", "answers 405 to every method but"],
      ["http-unit/public.test.ts", "HEAD answers what GET would"],
      [RAW, "which only a socket can send"],
    ],
  },

  {
    area: "abuse",
    line: "1,000 requests in a second on one account: 429 with Retry-After, others unaffected",
    held: [[CODES, "rate_limited: the burst guard stops one account"]],
  },
  {
    area: "abuse",
    line: "the limiter is bounded whatever comes",
    held: [
      [KEYS, "remembers only the accounts of the last second"],
      [CROWDS, "a flood of keys that nobody has"],
    ],
  },
  {
    area: "abuse",
    line: "one more than may be in progress: 429 concurrency_limit",
    held: [[CODES, "concurrency_limit: as many as the account may have"]],
  },
  {
    area: "abuse",
    line: "a flood of 401 leaves nothing in memory",
    held: [
      [CROWDS, "a flood of keys that nobody has"],
      [KEYS, "what no key can be is never asked"],
    ],
  },

  {
    area: "money",
    line: "a negative, fractional or huge top-up is refused",
    instead: "there are no webhooks yet: the deed itself refuses",
    held: [
      ["store/promises/office.ts", "a top-up of %d is refused"],
      ["cli/usd.test.ts", "is refused by name of the flag"],
    ],
  },
  {
    area: "money",
    line: "the same payment twice is credited once",
    held: [["store/promises/office.ts", "a payment with a reference is credited once"]],
  },
  {
    area: "money",
    line: "more captured than held: refused by the database",
    held: [[SCHEMA, "a settlement takes at most what is held"]],
  },
  {
    area: "money",
    line: "direct SQL against a rule: refused",
    held: [
      [SCHEMA, "a balance changes only with the next movement"],
      [SCHEMA, "CHECK constraint failed"],
    ],
  },
  { area: "money", line: "integers at 2^53: refused", held: [[SCHEMA, "9007199254740992"]] },

  {
    area: "secrets",
    line: "keys, prompts, links and credentials in no log, output, error or trace",
    held: [
      [CANARY, "nothing is told on standard output"],
      [CANARY, "no answer tells one"],
      [CANARY, "every trace of every fault tells none"],
    ],
  },
  {
    area: "secrets",
    line: "the database holds keys as hashes only",
    held: [
      [CANARY, "a column holds a secret only where"],
      [CANARY, "no byte of any file of the data directory"],
    ],
  },
  {
    area: "secrets",
    line: "BUN_CONFIG_VERBOSE_FETCH: a live start is refused",
    held: [["security/start.test.ts", "ends a live start with 78"]],
  },
  {
    area: "secrets",
    line: "?debug, /metrics, /admin on the public port: nothing",
    held: [
      [PUBLIC, "paths from inside are not there"],
      [PUBLIC, "words in the query"],
    ],
  },
  {
    area: "secrets",
    line: "a provider that repeats the credential is not believed with it",
    held: [["providers/credential.test.ts", "that a provider repeats in its words"]],
  },

  {
    area: "links",
    line: "any character changed, another n, generation or key id, none: refused",
    held: [
      [LINKS, "changing any one character"],
      [LINKS, "what else is bad"],
    ],
  },
  {
    area: "links",
    line: "expired by a second; a clock set back does not revive it",
    held: [[LINKS, "good up to its second, expired after it"]],
  },
  { area: "links", line: "an old key id after a rotation", held: [[LINKS, "after a rotation former links stay good"]] },

  {
    area: "files",
    line: "HTML or SVG delivered as a picture is not served as a page",
    held: [
      ["files/serve.test.ts", "a browser never takes a file for a page of ours"],
      ["media/collect.test.ts", "unreadable, and nothing is kept"],
    ],
  },
  {
    area: "files",
    line: "the type is sniffed, nosniff is there",
    held: [
      ["media/probe.test.ts", "the type that a server claims does not matter"],
      [CONTENT, "comes whole, with its type"],
    ],
  },

  {
    area: "build",
    line: "no credential in what is built",
    instead: "advisories and licences need a registry's list: `npm audit`, where there is one",
    held: [[PUBLIC, "is written anywhere in the repository"]],
  },
];
