// Runs one rung of the ladder as a process: `bun server.ts RUNG DIRECTORY`; prints its port.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AnyElysia, Elysia } from "elysia";
import { openGroupCommit, type Row } from "./group-commit.ts";
import { ACCOUNTS, accountOf, accountsByKey, answerJson, BODY, priceOf, STORED, Submission, shownOf } from "./parts.ts";

const UNAUTHORIZED = '{"error":{"code":"unauthorized","message":"Missing or invalid API key."}}';
const [rung = "", dir = "."] = process.argv.slice(2);
const options = { serve: { hostname: "127.0.0.1", reusePort: false } } as const;

const listening = (port: number | undefined) => process.stdout.write(`ready ${port}\n`);
const listen = (app: AnyElysia) => listening(app.listen({ hostname: "127.0.0.1", port: 0 }).server?.port);

/** Generations that a mixed load polls on a rung, as ready text. */
const POLLED = new Map(
  Array.from({ length: 5_000 }, (_, n) => [
    `gen_seed${n}`,
    JSON.stringify(shownOf(`gen_seed${n}`, 55, "2026-01-01T00:00:00.000Z")),
  ]),
);

/** Elysia with a checked body, a key and a price; `admit` is the rung's own work. */
const submissions = (admit: (row: Row) => Promise<number | undefined> | number | undefined) => {
  const byKey = accountsByKey();
  listen(
    new Elysia(options)
      .get("/v1/generations/:id", ({ params, request }) => {
        if (accountOf(request, byKey) === undefined) return answerJson(401, UNAUTHORIZED);
        return answerJson(200, POLLED.get(params.id) ?? "{}");
      })
      .post(
        "/v1/generations",
        async ({ body, request }) => {
          const account = accountOf(request, byKey);
          if (account === undefined) return answerJson(401, UNAUTHORIZED);
          const credits = priceOf(body.input);
          const input = JSON.stringify(body);
          const atMs = Date.now();
          const idempotencyKey = request.headers.get("idempotency-key") ?? "";
          const row = {
            account,
            model: body.model,
            input,
            credits,
            idempotencyKey,
            bodyHash: Bun.hash(input).toString(36),
            atMs,
          };
          const seq = await admit(row);
          if (seq === undefined) return answerJson(402, '{"error":{"code":"insufficient_credits","message":"Add credits."}}');
          return answerJson(202, JSON.stringify(shownOf(`gen_${seq.toString(36)}`, credits, new Date(atMs).toISOString())));
        },
        { body: Submission },
      ),
  );
};

/** Sends the bytes and headers of a service response without any work. */
const copyOf = (path: string) => {
  const { body, headers } = JSON.parse(readFileSync(path, "utf8")) as { body: string; headers: [string, string][] };
  const given = new Headers(headers.filter(([name]) => !["content-length", "date"].includes(name)));
  const bytes = new TextEncoder().encode(body);
  listen(new Elysia(options).get("/*", () => new Response(bytes, { headers: given })));
};
/** A ready string of the same size, with its content type only. */
const textOf = (path: string) => {
  const { body } = JSON.parse(readFileSync(path, "utf8")) as { body: string };
  listen(new Elysia(options).get("/v1/generations/:id", () => answerJson(200, body)));
};

/** A transaction for each request. */
const openTransactions = () => {
  const db = new Database(join(dir, "transactions.db"), { create: true, strict: true });
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("CREATE TABLE account (seq INTEGER PRIMARY KEY, held INTEGER NOT NULL)");
  db.run(
    "CREATE TABLE generation (seq INTEGER PRIMARY KEY, account INTEGER NOT NULL, input TEXT NOT NULL, credits INTEGER NOT NULL)",
  );
  const addAccount = db.prepare("INSERT INTO account VALUES (?1, 0)");
  db.transaction(() => {
    for (let account = 0; account < ACCOUNTS; account += 1) addAccount.run(account);
  })();
  const insert = db.prepare("INSERT INTO generation (account, input, credits) VALUES (?1, ?2, ?3)");
  db.transaction(() => {
    for (let n = 0; n < STORED; n += 1) insert.run(n % ACCOUNTS, BODY, 55);
  })();
  const hold = db.prepare("UPDATE account SET held = held + ?2 WHERE seq = ?1");
  return db.transaction((row: Row) => {
    hold.run(row.account, row.credits);
    return Number(insert.run(row.account, row.input, row.credits).lastInsertRowid);
  });
};

/** A handler with its body and one durable commit of one row. */
const commits = () => {
  const db = new Database(join(dir, "commits.db"), { create: true, strict: true });
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("CREATE TABLE generation (seq INTEGER PRIMARY KEY, input TEXT NOT NULL)");
  const insert = db.prepare("INSERT INTO generation (input) VALUES (?1)");
  db.transaction(() => {
    for (let n = 0; n < STORED; n += 1) insert.run(BODY);
  })();
  listen(
    new Elysia(options).post("/v1/generations", ({ body }) => {
      const seq = Number(insert.run(JSON.stringify(body)).lastInsertRowid);
      return answerJson(202, JSON.stringify(shownOf(`gen_${seq.toString(36)}`, 55, "2026-01-01T00:00:00.000Z")));
    }),
  );
};

const RUNGS: Readonly<Record<string, () => void>> = {
  "bun-get": () => listening(Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") }).port),
  "elysia-get": () => listen(new Elysia(options).get("/", () => "hello")),
  "elysia-body": () => listen(new Elysia(options).post("/v1/generations", ({ body }) => answerJson(202, JSON.stringify(body)))),
  "elysia-schema": () =>
    listen(
      new Elysia(options).post("/v1/generations", ({ body }) => answerJson(202, JSON.stringify(body)), { body: Submission }),
    ),
  key: () => submissions(() => 1),
  commit: commits,
  transaction: () => submissions(openTransactions()),
  ceiling: () => submissions(openGroupCommit(join(dir, "ceiling.db"))),
};
const [kind = "", path = ""] = rung.split(":");
if (kind === "copy") copyOf(path);
else if (kind === "text") textOf(path);
else RUNGS[rung]?.();
