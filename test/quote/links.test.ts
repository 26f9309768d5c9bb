// Syntax of media URLs: https, port 443, no user info, nothing that parsing rewrites; allowed hosts have fewer rules.
import { describe, expect, test } from "bun:test";
import { linkFault } from "../../src/quote/check-links.ts";

const noHost = () => false;

describe("linkFault without allowed hosts", () => {
  const rows: [link: string, fault: string | undefined][] = [
    ["https://media.example/a.png", undefined],
    ["HTTPS://MEDIA.EXAMPLE/a.png", undefined],
    ["https://media.example:443/a.png?x=1#y", undefined],
    ["https://bücher.example/ä.png", undefined],
    ["https://media.example", undefined],
    ["https://media.example:8443/a.png", "must use port 443, not 8443"],
    ["https://media.example:22/", "must use port 443, not 22"],
    ["https://media.example:80/", "must use port 443, not 80"],
    ["http://media.example/a.png", "must be a public https URL, not http"],
    ["http://media.example:443/a.png", "must be a public https URL, not http"],
    ["https://user@media.example/", "must not contain a user name or password"],
    ["https://user:pass@media.example/", "must not contain a user name or password"],
    ["https://:pass@media.example/", "must not contain a user name or password"],
    ["https://media.example./a.png", "must not have a dot at the end of its host"],
    ["https://a\\@b.example/", "must not contain white space, control characters or backslashes"],
    ["https://media.example\\a.png", "must not contain white space, control characters or backslashes"],
    [" https://media.example/", "must not contain white space, control characters or backslashes"],
    ["https://media.example/a b", "must not contain white space, control characters or backslashes"],
    ["https://media.example/\n", "must not contain white space, control characters or backslashes"],
    ["ht\ttps://media.example/", "must not contain white space, control characters or backslashes"],
    ["https://media.example/\u0000", "must not contain white space, control characters or backslashes"],
    ["https://media.example/\u00a0", "must not contain white space, control characters or backslashes"],
    ["https://media.example/\udc00", "contains an unpaired surrogate"],
    ["https:media.example/a.png", "must be a public https URL"],
    ["https:///media.example/a.png", "must be a public https URL"],
    ["//media.example/a.png", "must be a public https URL"],
    ["media.example/a.png", "must be a public https URL"],
    ["https://", "must be a public https URL"],
    ["https://[::1", "must be a public https URL"],
    ["https://a:99999/", "must be a public https URL"],
    ["file:///etc/passwd", "must be a public https URL"],
    ["data:image/png;base64,AAAA", "must be a public https URL"],
    ["javascript:alert(1)", "must be a public https URL"],
    ["ftp://media.example/a.png", "must be a public https URL"],
    ["blob:https://media.example/1", "must be a public https URL"],
    ["", "must not be empty; omit the field"],
  ];
  test.each(rows)("%j returns %j", (link, fault) => expect(linkFault(link, noHost)).toBe(fault));
});

describe("linkFault with allowed hosts", () => {
  const asked: string[] = [];
  const allowed = (host: string) => {
    asked.push(host);
    return ["localhost:80", "127.0.0.1:9000", "[::1]:9000", "files.local:8443"].includes(host);
  };
  const rows: [link: string, host: string, isAllowed: boolean][] = [
    ["http://localhost/a.png", "localhost:80", true],
    ["http://127.0.0.1:9000/a.png", "127.0.0.1:9000", true],
    ["http://[::1]:9000/a.png", "[::1]:9000", true],
    ["https://files.local:8443/a.png", "files.local:8443", true],
    ["http://files.local:8444/a.png", "files.local:8444", false],
    ["http://localhost:81/", "localhost:81", false],
  ];
  test.each(rows)("checks %s against the allowlist as %s", (link, host, isAllowed) => {
    asked.length = 0;
    expect(linkFault(link, allowed) === undefined).toBe(isAllowed);
    expect(asked).toEqual([host]);
  });
  test("rejects user info and other schemes of an allowed host", () => {
    expect(linkFault("http://u:p@localhost/a.png", allowed)).toBe("must not contain a user name or password");
    expect(linkFault("ftp://localhost:80/a.png", allowed)).toBe("must be a public https URL");
  });
  test("does not check the allowlist for a plain https URL", () => {
    asked.length = 0;
    expect(linkFault("https://files.local/a.png", allowed)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
