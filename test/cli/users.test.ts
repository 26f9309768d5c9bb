// `genrouter users`: set-up and invitation links, rejected arguments, the audit log, and former command names.
import { afterAll, expect, test } from "bun:test";
import { userInfo } from "node:os";
import { openDirectory } from "../store/open-store.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const run = async (dir: string, ...words: string[]) => {
  const { exit, out, err } = await runHere(["users", ...words, "--data", dir]);
  return { exit, out, err };
};
const newDirectory = async (): Promise<string> => {
  const dir = freshDir();
  await (await openDirectory({ dir, mode: "test" })).close();
  return dir;
};

test("users setup prints a link, and the audit log has the name of the machine's user but not the token", async () => {
  const dir = await newDirectory();
  expect((await run(dir, "list")).err).toContain("genrouter users setup");
  const { exit, out } = await run(dir, "setup");
  expect(exit).toBe(0);
  const token = /^\/console\/setup#([\w-]{43})\n$/.exec(out)?.[1] ?? "";
  expect(token).not.toBe("");
  const store = await openDirectory({ dir, mode: "test" });
  const [line] = await store.audit(null, 10, {});
  await store.close();
  expect(line).toMatchObject({
    action: "invite",
    actor: { kind: "command", name: userInfo().username },
    detail: { kind: "setup" },
  });
  expect(JSON.stringify(line)).not.toContain(token);
});

test("users invite creates a member of a new account, and rejects invalid arguments with a message", async () => {
  const dir = await newDirectory();
  const made = await run(dir, "invite", "Ben@Example.com", "--new-account", "Ben's", "--json");
  expect(JSON.parse(made.out)).toMatchObject({
    email: "ben@example.com",
    url: expect.stringContaining("/console/join#") as unknown,
  });
  expect(JSON.parse((await run(dir, "list", "--json")).out)).toMatchObject({
    people: [],
    invitations: [{ kind: "invite", email: "ben@example.com", role: "member" }],
  });
  for (const [words, exit, says] of [
    [["invite", "ben"], 2, "not an e-mail address"],
    [["invite", "ben@example.com"], 2, "needs an account"],
    [["invite", "ben@example.com", "--role", "king"], 2, "member, operator, viewer"],
    [["invite", "ben@example.com", "--account", "acc_none"], 4, "no account acc_none"],
    [["reset", "unknown@example.com"], 4, "no user unknown@example.com"],
    [["disable", "per_none"], 4, "no user per_none"],
  ] as const) {
    const reported = await run(dir, ...words);
    expect([words, reported.exit, reported.err]).toEqual([words, exit, expect.stringContaining(says)]);
  }
});

test("users invite reports an invalid address before a missing database", async () => {
  const { exit, err } = await run(freshDir(), "invite", "notmail");
  expect([exit as number, err]).toEqual([2, expect.stringContaining('"notmail" is not an e-mail address; expected name@host')]);
});

test.each([
  [["people", "--help"], "users", "genrouter people was renamed; use genrouter users"],
  [["machine", "list"], "generation", "genrouter machine was renamed; use genrouter statechart"],
  [["backup", "adopt", "--help"], "mark-restored", "genrouter backup adopt was renamed; use genrouter backup mark-restored"],
])("the former command %j runs the current command and prints a note with its name", async (words, printed, note) => {
  const { exit, out, err } = await runHere(words);
  expect(exit).toBe(0);
  expect(out).toContain(printed);
  expect(err).toContain(note);
});
