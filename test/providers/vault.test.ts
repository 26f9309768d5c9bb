// Credential vault: a sealed key opens only with the master key, for its provider and its id.
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

test("a sealed key does not contain the key, differs each time, and opens with a new vault", () => {
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

test("the vault creates the master key file with mode 600 at the first seal", () => {
  createVault(dir);
  expect(() => statSync(masterFile())).toThrow();
  createVault(dir).seal("fal", KEY, []);
  expect(statSync(masterFile()).mode & 0o777).toBe(0o600);
});

test("a leftover temporary file with mode 644 does not affect the mode of the master key file", () => {
  writeFileSync(`${masterFile()}.new`, "left over", { mode: 0o644 });
  createVault(dir).seal("fal", KEY, []);
  expect(statSync(masterFile()).mode & 0o777).toBe(0o600);
});

describe("the vault refuses to open a sealed key", () => {
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
    throw new Error("the sealed key opened");
  };
  test("for another provider, under another id, or after a change of any part", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    expect(refused("replicate", kept)).toContain("was changed after it was sealed");
    expect(refused("fal", { ...kept, id: "pk_0000000000" })).toContain("was changed");
    const [form, master, nonce, body = ""] = kept.sealed.split(".");
    const other = body.startsWith("A") ? `B${body.slice(1)}` : `A${body.slice(1)}`;
    expect(refused("fal", { ...kept, sealed: [form, master, nonce, other].join(".") })).toContain("was changed");
    for (const parts of [[nonce, ""], ["", body], ["AAAA", body], []])
      expect(refused("fal", { ...kept, sealed: [form, master, ...parts].join(".") })).toContain("was changed");
  });
  test("without the master key file, and names the command that sets the key again", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    rmSync(masterFile());
    expect(refused("fal", kept)).toContain("genrouter providers set-key fal");
  });
  test("with an invalid master key file", () => {
    const kept = createVault(dir).seal("fal", KEY, []);
    writeFileSync(masterFile(), "hello\n");
    expect(refused("fal", kept)).toContain("restore the file");
  });
});

test("after renew, keys sealed before still open until forgetOld is called", () => {
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
