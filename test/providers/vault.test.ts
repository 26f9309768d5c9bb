// Credentials at rest: what is written opens only with the master key, for the provider and under the id it was sealed for.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVault, VaultFault } from "../../src/providers/vault.ts";

const root = mkdtempSync(join(tmpdir(), "vault-"));
let dir = root;
beforeEach(() => {
  dir = mkdtempSync(join(root, "data-"));
});
afterAll(() => rmSync(root, { recursive: true }));

const KEY = "fal-key-0123456789abcdef:secret";
const masterFile = () => join(dir, "provider-keys.master");

test("what is sealed holds nothing of the key, is another text each time, and opens again in a later process", () => {
  const vault = createVault(dir);
  const [one, two] = [vault.seal("fal", KEY, []), vault.seal("fal", KEY, [])];
  expect(one.sealed).not.toBe(two.sealed);
  expect(one.id).not.toBe(two.id);
  for (const { sealed } of [one, two]) {
    expect(sealed).not.toContain(KEY);
    for (const part of sealed.split(".")) expect(Buffer.from(part, "base64url").toString("latin1")).not.toContain("fal-key");
  }
  expect(createVault(dir).open("fal", one)).toBe(KEY);
});

test("the master key is for its owner alone, and a vault in which nothing was sealed makes no file", () => {
  createVault(dir);
  expect(() => statSync(masterFile())).toThrow();
  createVault(dir).seal("fal", KEY, []);
  expect(statSync(masterFile()).mode & 0o777).toBe(0o600);
});

test("what was left over of a file that others may read does not make the master key readable", () => {
  writeFileSync(`${masterFile()}.new`, "left over", { mode: 0o644 });
  createVault(dir).seal("fal", KEY, []);
  expect(statSync(masterFile()).mode & 0o777).toBe(0o600);
});

describe("it does not open", () => {
  const refused = (account: string, kept: { id: string; sealed: string }): string => {
    try {
      createVault(dir).open(account, kept);
    } catch (fault) {
      expect(fault).toBeInstanceOf(VaultFault);
      const { message } = fault as Error;
      expect(message).not.toContain(KEY);
      expect(message.split("\n")).toHaveLength(1);
      return message;
    }
    throw new Error("it opened");
  };
  test("for another provider, under another id, or when a byte of it was changed", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    expect(refused("replicate", kept)).toContain("was changed after it was sealed");
    expect(refused("fal", { ...kept, id: "pk_0000000000" })).toContain("was changed");
    const [form, master, nonce, body = ""] = kept.sealed.split(".");
    const other = body.startsWith("A") ? `B${body.slice(1)}` : `A${body.slice(1)}`;
    expect(refused("fal", { ...kept, sealed: [form, master, nonce, other].join(".") })).toContain("was changed");
    for (const parts of [[nonce, ""], ["", body], ["AAAA", body], []])
      expect(refused("fal", { ...kept, sealed: [form, master, ...parts].join(".") })).toContain("was changed");
  });
  test("without the file of master keys, and says how to go on", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    rmSync(masterFile());
    expect(refused("fal", kept)).toContain("genrouter providers set-key fal");
  });
  test("with a file that is something else", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    writeFileSync(masterFile(), "hello\n");
    expect(refused("fal", kept)).toContain("restore the file");
  });
});

test("a new master key opens what the one before it sealed, until that one is forgotten", () => {
  const vault = createVault(dir);
  const before = vault.seal("fal", KEY, []);
  vault.renew();
  const after = vault.seal("fal", KEY, []);
  expect(readFileSync(masterFile(), "utf8").trim().split("\n")).toHaveLength(2);
  expect(before.sealed.split(".")[1]).not.toBe(after.sealed.split(".")[1]);
  expect([vault.open("fal", before), vault.open("fal", after)]).toEqual([KEY, KEY]);
  vault.forgetOld();
  expect(vault.open("fal", after)).toBe(KEY);
  expect(() => vault.open("fal", before)).toThrow(VaultFault);
});
