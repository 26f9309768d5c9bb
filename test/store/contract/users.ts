// Store contract of users: invitations, sessions, sign-in, the last operator and the audit log.
import { expect, test } from "bun:test";
import { hashApiKey, newId } from "../../../src/domain/ids.ts";
import type { AcceptInvitation, InviteUser, NewSession, SignUp } from "../../../src/domain/user-mutations.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Stage } from "../conformance.ts";
import { commitOne, NOW_MS } from "../fixture.ts";

const PASSWORD = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA";
const HOUR_MS = 3_600_000;
const FIRST = { kind: "command", id: "0", name: "root" } as const;

const newSession = (atMs = NOW_MS): NewSession => ({
  id: newId("ses"),
  hash: hashApiKey(newId("ses")),
  expiresAtMs: atMs + HOUR_MS,
  agent: "Firefox",
  address: "127.0.0.1",
});
const invite = (changes: Partial<InviteUser> = {}): InviteUser => ({
  mutation: "invite",
  id: newId("inv"),
  hash: hashApiKey(newId("inv")),
  kind: "invite",
  role: "operator",
  accountSeq: null,
  accountName: null,
  email: "ada@example.com",
  userId: null,
  expiresAtMs: NOW_MS + HOUR_MS,
  atMs: NOW_MS,
  ...changes,
});
const setup = (): InviteUser => invite({ kind: "setup", email: null });
const accept = (hash: string, changes: Partial<AcceptInvitation> = {}): AcceptInvitation => ({
  mutation: "accept-invitation",
  hash,
  userId: newId("per"),
  email: "ada@example.com",
  name: "Ada",
  password: PASSWORD,
  account: null,
  session: newSession(changes.atMs),
  atMs: NOW_MS,
  ...changes,
});
const signUp = (email: string, changes: Partial<SignUp> = {}): SignUp => ({
  mutation: "sign-up",
  userId: newId("per"),
  email,
  name: "Ben",
  password: PASSWORD,
  account: { id: newId("acc"), name: "Ben's" },
  session: newSession(),
  atMs: NOW_MS,
  ...changes,
});
/** Creates the first operator through the set-up link. */
const setUp = async (store: Store): Promise<AcceptInvitation> => {
  const link = setup();
  const mutation = accept(link.hash);
  expect(await store.commit([link, mutation])).toMatchObject([{ kind: "done" }, { kind: "done" }]);
  return mutation;
};
const kindOf = async (store: Store, mutation: Parameters<typeof commitOne>[1]) => (await commitOne(store, mutation)).kind;

export const userPromises = (stage: Stage): void => {
  test("admits the first operator once by the set-up link, and withdraws an older set-up link", async () => {
    const { store } = stage;
    const [old, link] = [setup(), setup()];
    expect(await store.commit([old, link])).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(await kindOf(store, accept(old.hash))).toBe("refused");
    const [one, two] = await store.commit([accept(link.hash), accept(link.hash, { email: "eve@example.com" })]);
    expect([one?.kind, two?.kind]).toEqual(["done", "refused"]);
    expect(await store.operators()).toBe(1);
    expect((await store.users()).map(({ email, role }) => [email, role])).toEqual([["ada@example.com", "operator"]]);
    expect(await kindOf(store, setup())).toBe("refused");
    expect(await store.invitationByHash(link.hash)).toMatchObject({ usedAtMs: NOW_MS, userName: "Ada" });
    expect(await store.invitationByHash(old.hash)).toMatchObject({ usedAtMs: null, withdrawnAtMs: NOW_MS });
  });

  test("rejects an invitation that has expired or was withdrawn", async () => {
    const { store } = stage;
    const link = invite();
    await store.commit([link]);
    expect(await kindOf(store, accept(link.hash, { atMs: link.expiresAtMs }))).toBe("refused");
    const take = { mutation: "withdraw-invitation", invitationId: link.id, atMs: NOW_MS + 1 } as const;
    expect([await kindOf(store, take), await kindOf(store, take)]).toEqual(["done", "refused"]);
    expect(await kindOf(store, accept(link.hash))).toBe("refused");
    expect(await store.users()).toEqual([]);
  });

  test("creates the user with the invited email address, in the named account or in a new account", async () => {
    const { store, account } = stage;
    const joins = invite({ role: "member", accountSeq: account.seq, email: "cy@example.com" });
    const makes = invite({ role: "member", accountName: "Dee's", email: "dee@example.com" });
    const made = { id: newId("acc"), name: "Dee's" };
    await store.commit([joins, makes, accept(joins.hash), accept(makes.hash, { account: made })]);
    expect((await store.users()).map(({ email, role, accountId }) => [email, role, accountId])).toEqual([
      ["cy@example.com", "member", account.id],
      ["dee@example.com", "member", made.id],
    ]);
    expect((await store.usersOf(account.seq)).map(({ email }) => email)).toEqual(["cy@example.com"]);
    expect(await store.account(made.id)).toMatchObject({ name: "Dee's", availableCredits: 0 });
    expect(await kindOf(store, invite({ email: "cy@example.com" }))).toBe("refused");
  });

  test("creates one user and one account for two sign-ups with the same email address", async () => {
    const { store } = stage;
    const before = (await store.accounts()).length;
    const outcomes = await store.commit([signUp("ben@example.com"), signUp("ben@example.com")]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "refused"]);
    expect(await store.accounts()).toHaveLength(before + 1);
  });

  test("returns the user of a session and its last use, and returns nothing after the session ends", async () => {
    const { store } = stage;
    const ben = signUp("ben@example.com");
    const second = newSession();
    await store.commit([
      ben,
      { mutation: "open-session", userId: ben.userId, password: PASSWORD, session: second, atMs: NOW_MS },
    ]);
    expect(await store.sessionByHash(ben.session.hash)).toMatchObject({
      userId: ben.userId,
      email: "ben@example.com",
      role: "member",
      accountId: ben.account.id,
      sessionId: ben.session.id,
      createdAtMs: NOW_MS,
      seenAtMs: NOW_MS,
      expiresAtMs: NOW_MS + HOUR_MS,
    });
    await store.commit([
      {
        mutation: "note-sessions-seen",
        seen: [
          [ben.session.id, NOW_MS + 5],
          [second.id, NOW_MS - 5],
        ],
      },
    ]);
    expect((await store.sessionsOf(ben.userId)).map(({ id, seenAtMs }) => [id, seenAtMs])).toEqual([
      [ben.session.id, NOW_MS + 5],
      [second.id, NOW_MS],
    ]);
    await store.commit([{ mutation: "end-sessions", userId: ben.userId, exceptId: second.id, atMs: NOW_MS + 6 }]);
    expect(await store.sessionByHash(ben.session.hash)).toBeUndefined();
    expect(await store.sessionByHash(second.hash)).toBeDefined();
    await store.commit([{ mutation: "end-sessions", userId: ben.userId, onlyId: second.id, atMs: NOW_MS + 7 }]);
    expect(await store.sessionByHash(second.hash)).toBeUndefined();
  });

  test("audits refused sign-ins of an existing user, and rejects those of an unknown user", async () => {
    const { store } = stage;
    const ben = signUp("ben@example.com");
    const refused = { mutation: "note-refused-sign-ins", wrong: 3, throttled: 1, networks: 2, atMs: NOW_MS } as const;
    const by = { kind: "service", id: "genrouter", name: "sign-in" } as const;
    const outcomes = await store.commit([ben, { ...refused, userId: ben.userId, by }, { ...refused, userId: "per_none", by }]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "refused"]);
    expect(await store.audit(null, 5, { action: "note-refused-sign-ins" })).toMatchObject([
      { target: ben.userId, detail: { wrong: 3, throttled: 1, networks: 2 } },
    ]);
  });

  test("ends earlier sessions when the password changes, and rejects a sign-in that checked the old password", async () => {
    const { store } = stage;
    const ada = await setUp(store);
    const password = `${PASSWORD}2`;
    const late = {
      mutation: "open-session",
      userId: ada.userId,
      password: PASSWORD,
      session: newSession(),
      atMs: NOW_MS,
    } as const;
    const link = invite({ kind: "reset", email: null, userId: ada.userId });
    const reset = accept(link.hash, { password });
    await store.commit([link, reset]);
    expect(await kindOf(store, late)).toBe("refused");
    expect(await store.sessionByHash(ada.session.hash)).toBeUndefined();
    expect(await store.sessionByHash(reset.session.hash)).toMatchObject({ userId: ada.userId });
    expect((await store.userByEmail("ada@example.com"))?.password).toBe(password);
    const own = { mutation: "set-user", userId: ada.userId, password: PASSWORD, atMs: NOW_MS } as const;
    expect(await kindOf(store, { ...own, ifPassword: PASSWORD })).toBe("refused");
    expect(await kindOf(store, { ...own, ifPassword: password, keepSessionId: reset.session.id })).toBe("done");
    expect(await store.sessionByHash(reset.session.hash)).toBeDefined();
  });

  test("ends the sessions of a disabled user at once, and requires a new sign-in after the user is enabled", async () => {
    const { store } = stage;
    const ben = signUp("ben@example.com");
    await store.commit([ben, { mutation: "set-user", userId: ben.userId, disabled: true, atMs: NOW_MS }]);
    expect(await store.sessionByHash(ben.session.hash)).toBeUndefined();
    const again = {
      mutation: "open-session",
      userId: ben.userId,
      password: PASSWORD,
      session: newSession(),
      atMs: NOW_MS,
    } as const;
    expect(await kindOf(store, again)).toBe("refused");
    expect(await kindOf(store, invite({ kind: "reset", email: null, userId: ben.userId }))).toBe("refused");
    await store.commit([{ mutation: "set-user", userId: ben.userId, disabled: false, atMs: NOW_MS }]);
    expect(await store.sessionByHash(ben.session.hash)).toBeUndefined();
    expect(await kindOf(store, again)).toBe("done");
  });

  test("rejects changes that would leave no operator who can sign in", async () => {
    const { store } = stage;
    const ada = await setUp(store);
    const out = { mutation: "set-user", userId: ada.userId, disabled: true, atMs: NOW_MS } as const;
    expect(await commitOne(store, out)).toMatchObject({ kind: "refused", reason: expect.stringContaining("last operator") });
    expect(await kindOf(store, { ...out, disabled: false, role: "viewer" })).toBe("refused");
    const link = invite({ email: "bo@example.com" });
    const bo = accept(link.hash);
    await store.commit([link, bo]);
    // Both operators are disabled in one batch: one of them stays.
    const outcomes = await store.commit([out, { ...out, userId: bo.userId }]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "refused"]);
    expect(await store.operators()).toBe(1);
  });

  test("creates one unlisted playground key per account", async () => {
    const { store, account } = stage;
    const make = (): Parameters<typeof commitOne>[1] => ({
      mutation: "make-console-key",
      accountSeq: account.seq,
      id: newId("key"),
      atMs: NOW_MS,
    });
    expect(await store.consoleCaller(account.seq)).toBeUndefined();
    const [one, two] = await store.commit([make(), make()]);
    expect(one).toMatchObject({ kind: "done" });
    expect(two).toEqual(one as typeof two);
    expect(await store.consoleCaller(account.seq)).toMatchObject({ scope: "generate", accountId: account.id, paused: false });
    expect(await store.keys(account.id)).toHaveLength(1);
    expect(await store.keys()).toHaveLength(1);
  });

  test("audits who changed what, without secrets and without rejected changes", async () => {
    const { store, account } = stage;
    const ada = await setUp(store);
    const by = { kind: "user", id: ada.userId, name: ada.email } as const;
    const credit = {
      mutation: "credit",
      accountSeq: account.seq,
      kind: "topup",
      note: "pack",
      reference: null,
      atMs: NOW_MS,
    } as const;
    const password = `${PASSWORD}2`;
    await store.commit([
      { ...credit, credits: 5, by },
      { ...credit, credits: -5, by },
      { ...credit, credits: 7 },
      { mutation: "set-account", accountSeq: account.seq, paused: true, atMs: NOW_MS + 1, by: FIRST },
      { mutation: "set-provider-key", account: "fal", id: "k1", sealed: "sealed-secret", atMs: NOW_MS + 2, by },
      { mutation: "set-user", userId: ada.userId, name: "Ada L.", password, atMs: NOW_MS + 3, by },
    ]);
    const lines = await store.audit(null, 10, {});
    expect(lines.map(({ action, target, actor, detail }) => [action, target, actor.name, detail])).toEqual([
      ["set-user", ada.userId, by.name, { name: "Ada L.", password: "changed" }],
      ["set-provider-key", "fal", by.name, {}],
      ["set-account", account.id, "root", { paused: true }],
      ["credit", account.id, by.name, { kind: "topup", credits: 5, note: "pack", reference: null, transferredCredits: 5 }],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/argon2|sealed-secret/);
    expect(await store.audit(lines[1]?.seq ?? 0, 1, {})).toEqual(lines.slice(2, 3));
    expect(await store.audit(null, 10, { actor: "root" })).toEqual(lines.slice(2, 3));
    expect(await store.audit(null, 10, { actor: ada.userId, target: "fal" })).toEqual(lines.slice(1, 2));
    expect(await store.audit(null, 10, { action: "credit" })).toEqual(lines.slice(3));
    expect(await store.audit(null, 10, { fromMs: NOW_MS + 1, toMs: NOW_MS + 3 })).toEqual(lines.slice(1, 3));
    // A change with a principal requires a time.
    expect((await commitOne(store, { mutation: "set-account", accountSeq: account.seq, paused: false, by })).kind).toBe(
      "refused",
    );
    expect(await store.account(account.id)).toMatchObject({ paused: true });
  });
};
