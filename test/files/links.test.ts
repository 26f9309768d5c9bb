// Signed links to result files: each opens one file until its expiry, and any change invalidates it.
import { describe, expect, test } from "bun:test";
import { createSignedLinks, type LinkOptions } from "../../src/files/signed-links.ts";

const SECRET = "a1".repeat(32);
const OTHER = "b2".repeat(32);
const START_MS = 1_790_000_000_000;

const world = (more: Partial<LinkOptions> = {}) => {
  let nowMs = START_MS;
  const clock = { nowMs: () => nowMs };
  const links = createSignedLinks({ secretHex: SECRET, baseUrl: () => "https://api.example", validS: 3600, clock, ...more });
  const parts = (url: string) => {
    const { pathname, searchParams } = new URL(url);
    const [, , id = "", n = ""] = pathname.split("/");
    const word = (name: string) => searchParams.get(name) ?? "";
    return { id, n: Number(n), exp: word("exp"), kid: word("kid"), sig: word("sig") };
  };
  return {
    links,
    clock,
    parts,
    moveTo: (ms: number) => {
      nowMs = ms;
    },
    judge: (url: string, change: Partial<ReturnType<typeof parts>> = {}) => {
      const { id, n, exp, kid, sig } = { ...parts(url), ...change };
      return links.check(id, n, exp, kid, sig);
    },
  };
};

test("signs an absolute link to one file that passes the check", () => {
  const { links, judge } = world();
  const url = links.sign("gen_1abc", 2);
  expect(url).toMatch(/^https:\/\/api\.example\/files\/gen_1abc\/2\?exp=\d{10}&kid=[\w-]{8}&sig=[\w-]{43}$/);
  expect(judge(url)).toBe("good");
});

test("rejects a link after a change of any character of its signed fields or its signature", () => {
  const { links, parts, judge } = world();
  const url = links.sign("gen_1abc", 2);
  const whole = parts(url);
  let tried = 0;
  for (const name of ["id", "exp", "kid", "sig"] as const)
    for (let at = 0; at < whole[name].length; at++)
      for (const letter of ["A", "B", "0", "1", "-", "_", "=", "z"]) {
        const changed = whole[name].slice(0, at) + letter + whole[name].slice(at + 1);
        if (changed === whole[name]) continue;
        tried++;
        expect(`${changed} ${judge(url, { [name]: changed })}`).toBe(`${changed} bad`);
      }
  expect(tried).toBeGreaterThan(400);
});

describe("invalid links", () => {
  const rows: [string, object][] = [
    ["another position", { n: 1 }],
    ["another generation", { id: "gen_1abd" }],
    ["no key id", { kid: "" }],
    ["an unknown key id", { kid: "AAAAAAAA" }],
    ["no signature", { sig: "" }],
    ["half a signature", { sig: "abc" }],
    ["a signature with an appended character", { sig: `${"A".repeat(43)}=` }],
    ["no expiry", { exp: "" }],
    ["an expiry with a leading zero", { exp: "01790003600" }],
    ["an expiry that is not a decimal number", { exp: "1e12" }],
    ["an expiry in Arabic digits", { exp: "١٧٩٠٠٠٣٦٠٠" }],
  ];
  test.each(rows)("rejects a link with %s", (_, change) => {
    const { links, judge } = world();
    expect(judge(links.sign("gen_1abc", 2), change)).toBe("bad");
  });

  test("rejects a link that is signed with the key of another service", () => {
    const mine = world();
    const theirs = world({ secretHex: OTHER });
    expect(mine.judge(theirs.links.sign("gen_1abc", 1))).toBe("bad");
    expect(mine.judge(theirs.links.sign("gen_1abc", 1), { kid: mine.parts(mine.links.sign("gen_1abc", 1)).kid })).toBe("bad");
  });

  test("rejects a link that expires later than the longest validity", () => {
    const long = world();
    const short = world({ validS: 600 });
    expect(short.judge(long.links.sign("gen_1abc", 1))).toBe("bad");
  });
});

describe("time", () => {
  test("accepts a link until its expiry, and reports it as expired afterwards, even if the clock is set back", () => {
    const { links, parts, judge, moveTo } = world();
    const url = links.sign("gen_1abc", 1);
    const endsMs = Number(parts(url).exp) * 1000;
    moveTo(endsMs - 1);
    expect(judge(url)).toBe("good");
    moveTo(endsMs);
    expect(judge(url)).toBe("expired");
    moveTo(endsMs + 1000);
    expect(judge(url)).toBe("expired");
    moveTo(endsMs - 3_600_000);
    expect(judge(url)).toBe("expired");
    expect(judge(url, { sig: "A".repeat(43) })).toBe("bad");
  });

  test("gives a link 55 to 60 minutes of validity at any time, and changes it at most every five minutes", () => {
    const { links, parts, moveTo } = world();
    const seen = new Set<string>();
    for (let s = 0; s < 3600; s += 7) {
      moveTo(START_MS + s * 1000 + 999);
      const url = links.sign("gen_1abc", 1);
      const leftS = Number(parts(url).exp) - (START_MS / 1000 + s + 0.999);
      expect(leftS).toBeGreaterThanOrEqual(3300);
      expect(leftS).toBeLessThanOrEqual(3600);
      seen.add(url);
    }
    expect(seen.size).toBeLessThanOrEqual(13);
  });

  test("signs valid links with a short validity", () => {
    for (const validS of [1, 2, 11, 12, 60]) {
      const { links, judge } = world({ validS });
      expect(judge(links.sign("gen_1abc", 1))).toBe("good");
    }
  });
});

describe("keys", () => {
  test("accepts links of the former key after a rotation and signs new links with the new key", () => {
    const before = world();
    const after = world({ secretHex: OTHER, formerSecretHex: SECRET });
    const former = before.links.sign("gen_1abc", 1);
    const latter = after.links.sign("gen_1abc", 1);
    expect([after.judge(former), after.judge(latter), before.judge(latter)]).toEqual(["good", "good", "bad"]);
    expect(after.parts(former).kid).not.toBe(after.parts(latter).kid);
  });

  test.each(["", "abcd", "a1".repeat(31), "zz".repeat(32), `${"a1".repeat(32)}f`])("rejects %p as a key", (secretHex) =>
    expect(() => world({ secretHex })).toThrow(RangeError),
  );

  test("does not include the key in a link", () => {
    const { links } = world();
    const url = links.sign("gen_1abc", 1);
    for (const form of ["hex", "base64url"] as const)
      expect(url).not.toContain(Buffer.from(SECRET, "hex").toString(form).slice(0, 12));
  });
});

test("signs a valid link after links to 50,000 other generations", () => {
  const { links, judge } = world();
  for (let n = 0; n < 50_000; n++) links.sign(`gen_${n.toString(36)}`, 1);
  expect(judge(links.sign("gen_0", 1))).toBe("good");
});
