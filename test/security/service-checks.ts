// The security checks behind the door: addresses, connections, abuse, money, secrets, links, files and what is built.
import type { Line } from "./table.ts";

const KEYS = "http-unit/keys.test.ts";
const RAW = "http-unit/raw.test.ts";
const CONTENT = "http-unit/content.test.ts";
const CODES = "api/codes.test.ts";
const SSRF = "api/ssrf.test.ts";
const GUARD = "media/ssrf-guard.test.ts";
const HOSTILE = "media/hostile.test.ts";
const LINKS = "files/links.test.ts";
/** Cases that two tests run, one over each database. */
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
      ["media/probe.test.ts", "no more is read of a link than the bound, with ranges and without"],
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
    instead: "there are no webhooks yet: the mutation itself refuses",
    held: [
      ["store/contract/admin.ts", "a top-up of %d is refused"],
      ["cli/usd.test.ts", "is refused by name of the flag"],
    ],
  },
  {
    area: "money",
    line: "the same payment twice is credited once",
    held: [["store/contract/admin.ts", "a payment with a reference is credited once"]],
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
