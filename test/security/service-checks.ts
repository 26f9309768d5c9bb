// Security checks of the service: SSRF, connections, abuse, money, secrets, links, files and the build.
import type { Line } from "./table.ts";

const KEYS = "http-unit/keys.test.ts";
const RAW = "http-unit/raw.test.ts";
const CONTENT = "http-unit/content.test.ts";
const CODES = "api/codes.test.ts";
const SSRF = "api/ssrf.test.ts";
const GUARD = "media/ssrf-guard.test.ts";
const HOSTILE = "media/hostile.test.ts";
const LINKS = "files/links.test.ts";
/** Cases that two tests run, one for each database. */
const GUARDS = "store/guards.ts";
const SCHEMAS = [
  ["store/schema.test.ts", "test.each(guards(WORDS))"],
  ["postgres/schema.test.ts", "test.each(CASES)"],
] as const;
const CANARY = "security/canary.test.ts";
const PUBLIC = "security/public.test.ts";
const CROWDS = "security/crowds.test.ts";
const FUZZ = "fuzz/generators.ts";

export const INNER_LINES: readonly Line[] = [
  {
    area: "ssrf",
    line: "34 addresses that are not public, of every range",
    held: [
      [GUARD, "%s is not public"],
      [GUARD, "rejects the literal address %s"],
    ],
  },
  {
    area: "ssrf",
    line: "15 spellings of loopback",
    held: [
      [GUARD, "rejects loopback written as %s"],
      [SSRF, "rejects %s, directly and by redirect, without a connection"],
    ],
  },
  {
    area: "ssrf",
    line: "names that resolve to private addresses, or to one of each",
    held: [
      [SSRF, "with the SSRF guard"],
      [GUARD, "rejects a name if one of its addresses is private"],
    ],
  },
  {
    area: "ssrf",
    line: "a name that changes between two look-ups",
    held: [[GUARD, "opens no connection to a name that later resolves to a forbidden address"]],
  },
  {
    area: "ssrf",
    line: "ports, schemes, user names, backslashes, dots, 4,097 characters",
    held: [
      [GUARD, "rejects %s"],
      ["api/extended.test.ts", "§2.6 validates %s"],
    ],
  },
  {
    area: "ssrf",
    line: "each field, in lists, as a redirect's target: 422 and no connection",
    held: [
      [SSRF, "checks the field input.%s"],
      [GUARD, "follows no redirect to a forbidden address"],
    ],
  },
  {
    area: "ssrf",
    line: "as a provider's result: the route fails and no connection is opened",
    held: [["api/fallback.test.ts", "does not connect to a result URL with a forbidden address"]],
  },
  {
    area: "ssrf",
    line: "the same listener receives a connection without the guard",
    held: [[SSRF, "without the SSRF guard"]],
  },
  {
    area: "ssrf",
    line: "hostile files, slow responses and 10 GB in bounded memory and time",
    held: [
      [HOSTILE, "the index of a malicious clip"],
      ["media/probe.test.ts", "reads no more of a link than the byte limit, with and without ranges"],
      ["media/collect.test.ts", "gives up on a slow body at the deadline"],
      ["media/collect-bounds.test.ts", "memory grows by less than half of its size"],
    ],
  },

  {
    area: "http",
    line: "nine smuggling cases: refused and closed",
    held: [[RAW, "rejects an ambiguous or malformed request and closes the connection"]],
  },
  {
    area: "http",
    line: "20 kB of headers, 300 headers: 431",
    held: [
      [RAW, "rejects 20 kB with 431"],
      [RAW, "rejects 300 headers with 431"],
    ],
  },
  { area: "http", line: "slow headers and bodies are closed", held: [[FUZZ, "connections that never finish are closed"]] },
  {
    area: "http",
    line: "2,000 idle connections: other requests are answered",
    held: [[CROWDS, "while 2,000 connections are idle"]],
  },
  {
    area: "http",
    line: "other methods: 405 or 404 with JSON; HEAD is defined",
    held: [
      ["http-unit/public.test.ts", "returns 405 for every method except"],
      ["http-unit/public.test.ts", "returns the status and headers of GET for HEAD"],
      [RAW, "returns the specified error body for %s"],
    ],
  },

  {
    area: "abuse",
    line: "1,000 requests in a second on one account: 429 with Retry-After, others unaffected",
    held: [[CODES, "rate_limited: is returned to one account"]],
  },
  {
    area: "abuse",
    line: "the rate limiter uses bounded memory",
    held: [
      [KEYS, "keeps only the accounts of the last seconds in memory"],
      [CROWDS, "requests with unknown or malformed keys"],
    ],
  },
  {
    area: "abuse",
    line: "one generation above the concurrency limit: 429 concurrency_limit",
    held: [[CODES, "concurrency_limit: is returned above the account's limit"]],
  },
  {
    area: "abuse",
    line: "a quote opens no link for an account without credits",
    held: [["api/quotes.test.ts", "is 402 with links before any of them is opened"]],
  },
  {
    area: "abuse",
    line: "waiting requests of one account are bounded",
    held: [["generation/waiters.test.ts", "an account has 100 places"]],
  },
  {
    area: "abuse",
    line: "a flood of 401 leaves nothing in memory",
    held: [
      [CROWDS, "requests with unknown or malformed keys"],
      [KEYS, "is returned without a read of the store when the checksum of the key is wrong"],
    ],
  },

  {
    area: "money",
    line: "a negative, fractional or huge top-up is refused",
    instead: "there are no webhooks yet: the mutation itself refuses",
    held: [
      ["store/contract/admin.ts", "rejects a top-up of %d credits"],
      ["cli/usd.test.ts", "rejects %p with the name of the flag"],
    ],
  },
  {
    area: "money",
    line: "the same payment twice is credited once",
    held: [["store/contract/admin.ts", "credits a payment reference once"]],
  },
  {
    area: "money",
    line: "more captured than held: refused by the database",
    held: [[GUARDS, "a settlement takes at most the hold"], ...SCHEMAS],
  },
  {
    area: "money",
    line: "direct SQL against a rule: refused",
    held: [[GUARDS, "a balance changes only with the next transfer"], [GUARDS, "[words.check, "], ...SCHEMAS],
  },
  { area: "money", line: "integers at 2^53: refused", held: [[GUARDS, "9007199254740992"], ...SCHEMAS] },

  {
    area: "secrets",
    line: "keys, prompts, links and credentials in no log, output, error or trace",
    held: [
      [CANARY, "no secret appears on standard output"],
      [CANARY, "no HTTP response contains a secret"],
      [CANARY, "trace prints no secret for any generation"],
    ],
  },
  {
    area: "secrets",
    line: "the database holds keys as hashes only",
    held: [
      [CANARY, "a column contains a secret only if"],
      [CANARY, "no file of the data directory contains a key"],
    ],
  },
  {
    area: "secrets",
    line: "BUN_CONFIG_VERBOSE_FETCH: a live start is rejected",
    held: [["security/start.test.ts", "ends a live start with 78"]],
  },
  {
    area: "secrets",
    line: "?debug, /metrics, /admin on the public port: nothing",
    held: [
      [PUBLIC, "returns 404 for an internal path"],
      [PUBLIC, "query parameters and framework headers"],
    ],
  },
  {
    area: "secrets",
    line: "a credential that a provider repeats does not appear in our messages",
    held: [["providers/credential.test.ts", "is redacted from the error detail when the provider repeats it"]],
  },

  {
    area: "links",
    line: "any character changed, another n, generation or key id, none: refused",
    held: [
      [LINKS, "a change of any character of its signed fields or its signature"],
      [LINKS, "rejects a link with %s"],
    ],
  },
  {
    area: "links",
    line: "expired by one second; setting the clock back does not make it valid again",
    held: [[LINKS, "accepts a link until its expiry, and reports it as expired afterwards"]],
  },
  { area: "links", line: "an old key id after a rotation", held: [[LINKS, "accepts links of the former key after a rotation"]] },

  {
    area: "files",
    line: "HTML or SVG delivered as an image is not served as a page",
    held: [
      ["files/serve.test.ts", "headers that stop browsers from rendering a file as a page"],
      ["media/collect.test.ts", "as unreadable and stores no file"],
    ],
  },
  {
    area: "files",
    line: "the type is sniffed, nosniff is there",
    held: [
      ["media/probe.test.ts", "ignores the Content-Type of the server"],
      [CONTENT, "is returned whole, with its type"],
    ],
  },

  {
    area: "build",
    line: "no credential in the build",
    instead: "advisories and licences need a registry's list: `npm audit`, where there is one",
    held: [[PUBLIC, "no file of the repository contains an API key"]],
  },
];
