// Plays the life of one generation and checks every response, including the exact balance.
import type { Life } from "./case.ts";
import { fill, type Lane } from "./fixture.ts";
import type { Answer } from "./oracle.ts";
import { sendCall } from "./send.ts";

type Resource = {
  id: string;
  status: string;
  output: { urls: string[] } | null;
  quoted_usd: number;
  reserved_usd: number | null;
  cost_usd: number | null;
  attempts: number;
  error: { code: string } | null;
};
const ORDER = ["queued", "running", "succeeded", "failed"];
const isOver = ({ status }: Resource) => status === "succeeded" || status === "failed";
const PATIENCE_MS = 60_000;
const POLL_MS = 25;
const credits = (usd: number) => Math.round(usd * 100);
/** Without the links, which every poll renews. */
const lasting = (shown: Resource): string =>
  JSON.stringify({ ...shown, output: shown.output && { ...shown.output, urls: shown.output.urls.length } });

class Broken extends Error {}

export const playLife = async (lane: Lane, life: Life): Promise<string[]> => {
  const { world, lives } = lane;
  const faults: string[] = [];
  const ask = async (
    method: string,
    path: string,
    more: { body?: string; key?: string | null; headers?: [string, string][] } = {},
  ): Promise<Answer> => {
    const { body = null, key = lives.key, headers = [] } = more;
    const heard = await sendCall(world, { method, path, headers, body: body === null ? null : await fill(lane, body), key });
    if ("fault" in heard) throw new Broken(heard.fault);
    const described = world.oracle.faultsOf(heard.answer);
    if (described.length > 0) throw new Broken(`${method} ${path}: ${described.join("; ")}`);
    return heard.answer;
  };
  const must = (isTrue: boolean, what: string) => {
    if (!isTrue) faults.push(what);
  };
  const key: [string, string] = ["Idempotency-Key", await fill(lane, `${life.key}-${lives.accountSeq}`)];
  const post = (body: string) => ask("POST", "/v1/generations", { body, headers: [key] });
  const before = world.books.standing(lives.accountSeq);

  const follow = async () => {
    const first = await post(life.body);
    if (first.status === 503 && first.text.includes("model_unavailable")) return;
    if (first.status === 422 && first.text.includes("with the rest of this input")) return;
    if (first.status !== 202) throw new Broken(`the first submission was answered ${first.status} ${first.text.slice(0, 200)}`);
    let shown = JSON.parse(first.text) as Resource;
    const { id, quoted_usd, reserved_usd } = shown;
    const path = `/v1/generations/${id}`;
    must(shown.status === "queued" && shown.attempts === 0 && shown.cost_usd === null, `the 202 shows ${first.text}`);
    must(reserved_usd !== null && quoted_usd <= reserved_usd, `quoted ${quoted_usd}, reserved ${reserved_usd}`);

    const poll = async () => {
      const next = JSON.parse((await ask("GET", path)).text) as Resource;
      must(next.id === id && next.quoted_usd === quoted_usd, "a poll shows another generation, or another quote");
      must(ORDER.indexOf(next.status) >= ORDER.indexOf(shown.status), `${shown.status} became ${next.status}`);
      must(next.attempts >= shown.attempts, "attempts went down");
      if (isOver(shown))
        must(lasting(next) === lasting(shown), `what had ended changed: ${lasting(shown)} became ${lasting(next)}`);
      else if (!isOver(next)) {
        const { held, charged } = world.books.standing(lives.accountSeq);
        // The generation may have ended after the poll; then it has no hold.
        must(
          held === credits(reserved_usd ?? 0) || world.books.standing(lives.accountSeq).inProgress === 0,
          `held ${held}, reserved ${reserved_usd}, charged ${charged}`,
        );
      }
      shown = next;
    };
    const content = async (at: string, n: number) => {
      const wasOver = isOver(shown);
      const { status } = await ask("GET", `${path}${at}`);
      const files = shown.output?.urls.length ?? 0;
      const expected = !wasOver ? [409, 200, 404] : [shown.status === "succeeded" && files >= n ? 200 : 404];
      must(expected.includes(status), `${at} of a ${shown.status} generation with ${files} files answered ${status}`);
    };
    const stranger = async () => {
      const none = await ask("GET", "/v1/generations/gen_00000000000000000000z");
      for (const at of ["", "/content", "/content/2"]) {
        const { status, text } = await ask("GET", `${path}${at}`, { key: lane.own.key });
        must(status === 404 && text === none.text, `a stranger received ${status} ${text.slice(0, 120)}`);
      }
    };
    const link = async () => {
      if (shown.status !== "succeeded") return;
      await poll();
      const url = new URL(shown.output?.urls[0] ?? "");
      const good = await ask("GET", url.pathname + url.search, { key: null });
      const own = await ask("GET", `${path}/content`);
      must(
        good.status === 200 && good.text === own.text,
        `a link answered ${good.status}, the key ${own.status}, or with other bytes`,
      );
      const spoiled = await ask("GET", `${url.pathname.replace(/\/1(\.\w+)$/, "/2$1")}${url.search}`, { key: null });
      must(spoiled.status === 403, `the link of file 1 opened file 2 with ${spoiled.status}`);
      const other = await ask("GET", `/files/${world.done}/1${url.search}`, { key: null });
      must(other.status === 403, `the link of one generation opened another with ${other.status}`);
    };
    const looks = {
      poll,
      stranger,
      link,
      content: () => content("/content", 1),
      second: () => content("/content/2", 2),
      replay: async () => {
        const again = await post(life.rewritten);
        must(
          again.status === 200 && (JSON.parse(again.text) as Resource).id === id,
          `the same key and request answered ${again.status} ${again.text.slice(0, 120)}`,
        );
      },
      change: async () => {
        const { status, text } = await post(life.changed);
        must([400, 409].includes(status), `the key with another request answered ${status} ${text.slice(0, 120)}`);
      },
    };
    for (const look of life.looks) await looks[look]();
    const endMono = performance.now() + PATIENCE_MS;
    let pauseMs = POLL_MS;
    while (!isOver(shown) && performance.now() < endMono) {
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, 16 * POLL_MS);
      await poll();
    }
    must(isOver(shown), `still ${shown.status} after ${PATIENCE_MS / 1000} s`);
    for (const look of life.looks) await looks[look]();

    const after = world.books.standing(lives.accountSeq);
    const cost = shown.cost_usd ?? Number.NaN;
    must(
      shown.status === "succeeded" ? cost > 0 && cost <= (reserved_usd ?? 0) : cost === 0,
      `${shown.status} and cost ${cost} of ${reserved_usd}`,
    );
    must(shown.reserved_usd === null, "reserved_usd after the end");
    must(
      (shown.output !== null) === (shown.status === "succeeded") && (shown.error !== null) === (shown.status === "failed"),
      "output or error of the other end",
    );
    must(after.charged - before.charged === credits(cost), `charged ${after.charged - before.charged} credits for ${cost} USD`);
    must(
      before.available - after.available === credits(cost),
      `available fell by ${before.available - after.available} for ${cost} USD`,
    );
    must(
      after.held === before.held && after.inProgress === before.inProgress,
      `held ${after.held} and ${after.inProgress} in progress after the end`,
    );
  };
  await follow().catch((fault: unknown) => {
    if (fault instanceof Broken) faults.push(fault.message);
    else throw fault;
  });
  return faults;
};
