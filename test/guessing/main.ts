// Tests password guessing from many networks: `node scripts/bun.mjs test/guessing/main.ts`; ends with `N passed, N failed`.
import { killAll } from "../../src/torture/crash/processes.ts";
import { openPlace, type Place } from "../bombs/fixture.ts";
import { builtBinary } from "../built.ts";
import { readFlags, wholeOf } from "../flags.ts";

const HELP = `Sends wrong passwords of one user from many networks, while that user signs in from a known browser and from a new one.

  node scripts/bun.mjs test/guessing/main.ts                    10,000 tries from 500 networks, 70 at a time
  node scripts/bun.mjs test/guessing/main.ts --tries 1000       1,000 tries

  --tries N       number of wrong passwords                 (10000)
  --networks N    number of /24 networks that send them     (500)
  --at-once N     concurrent tries                          (70)`;

const values = readFlags({
  tries: { type: "string", default: "10000" },
  networks: { type: "string", default: "500" },
  "at-once": { type: "string", default: "70" },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const [tries, networks, atOnce] = [
  wholeOf("tries", values.tries),
  wholeOf("networks", values.networks),
  wholeOf("at-once", values["at-once"]),
];

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";
const OPERATOR = "o".repeat(40);
const LOOK_MS = 4_000;
/** The Retry-After of a sign-in that is rejected because too many wait. */
const BUSY_MS = 5_000;

/** The delay of the attack's retry after such a rejection, which does not check the password. */
const AGAIN_MS = 200;

type Answer = { status: number; ms: number; cookies: string; isBusy: boolean };
const post = async (url: string, path: string, body: object, address: string, cookie = ""): Promise<Answer> => {
  const beganMono = performance.now();
  const response = await fetch(`${url}/console/api/${path}`, {
    method: "POST",
    headers: {
      ...{ origin: url, "content-type": "application/json", "x-forwarded-for": address },
      ...(cookie === "" ? {} : { cookie }),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const cookies = response.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
  return {
    status: response.status,
    ms: Math.round(performance.now() - beganMono),
    cookies: cookies.join("; "),
    isBusy: text.includes("Too many users"),
  };
};

/** An address of the network with this number; 100.64.0.0/10 contains 16,384 networks. */
const addressOf = (network: number, host: number): string => `100.${64 + (network >> 8)}.${network & 255}.${1 + (host % 254)}`;

const refusedOf = async (url: string): Promise<Record<string, number>> => {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${OPERATOR}` } })).text();
  return Object.fromEntries(
    [...text.matchAll(/^genrouter_sign_ins_total\{outcome="(\w+)"\} (\d+)$/gm)].map(([, outcome = "", n = "0"]) => [
      outcome,
      Number(n),
    ]),
  );
};

/** Runs all tries, `atOnce` at a time. @returns the counts of statuses, and the number of retries because too many waited */
const attack = async (url: string): Promise<{ statuses: Record<number, number>; busy: number }> => {
  const statuses: Record<number, number> = {};
  let busy = 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < tries; n = next++) {
      const tried = () => post(url, "session", { email: EMAIL, password: `wrong horse ${n}` }, addressOf(n % networks, 0));
      let { status, isBusy } = await tried();
      while (isBusy) {
        busy += 1;
        await new Promise((wake) => setTimeout(wake, AGAIN_MS));
        ({ status, isBusy } = await tried());
      }
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return { statuses, busy };
};

const play = async (place: Place): Promise<[boolean, string][]> => {
  const { url, child } = place.nodes[0] ?? { url: "", child: undefined };
  const link = (await place.command("users", "setup")).output;
  const [, token = ""] = /#([\w-]{43})/.exec(link) ?? [];
  const accepted = await post(url, "link/accept", { token, email: EMAIL, name: "Ada", password: PASSWORD }, "198.51.100.4");
  if (accepted.status !== 200) throw new Error(`the set-up link answered ${accepted.status}: ${link}`);
  const signIn = (address: string, cookie = "") => post(url, "session", { email: EMAIL, password: PASSWORD }, address, cookie);
  /** Signs in like a person, and retries after Retry-After while too many wait. */
  const comeIn = async (address: string): Promise<Answer> => {
    const startMono = performance.now();
    let answer = await signIn(address);
    while (answer.isBusy && performance.now() - startMono < 60_000) {
      ownBusy += 1;
      await new Promise((wake) => setTimeout(wake, BUSY_MS));
      answer = await signIn(address);
    }
    return { ...answer, ms: Math.round(performance.now() - startMono) };
  };
  const mark = accepted.cookies.split("; ").find((pair) => pair.startsWith("__Host-genrouter-device")) ?? "";

  let ownBusy = 0;
  const known: Answer[] = [];
  const fresh: Answer[] = [];
  let isOver = false;
  const beganMono = performance.now();
  const attacked = attack(url).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    // Also from an address that the attack uses.
    known.push(await signIn(addressOf(0, 0), mark));
    if (fresh.length < 5) fresh.push(await comeIn(`203.0.${113 + fresh.length}.9`));
    await Promise.race([attacked, new Promise((wake) => setTimeout(wake, LOOK_MS))]);
  }
  const { statuses, busy } = await attacked;
  const tookS = (performance.now() - beganMono) / 1000;
  let affected = await signIn(addressOf(0, 0));
  const slowedMono = performance.now();
  while (affected.status !== 200 && performance.now() - slowedMono < 70_000) {
    await new Promise((wake) => setTimeout(wake, 1000));
    affected = await signIn(addressOf(0, 0));
  }
  const affectedS = (performance.now() - slowedMono) / 1000;
  const refused = await refusedOf(url);
  const counted = Object.entries(refused).reduce((sum, [outcome, n]) => (outcome === "succeeded" ? sum : sum + n), 0);
  // Includes the early tries of the new browser in a network of the attack.
  const own = Math.max(0, counted - busy - ownBusy - (statuses[422] ?? 0) - (statuses[429] ?? 0));
  const lines = (child?.output() ?? "").split("\n").filter((line) => line.includes('"sign-in rejected"')).length;
  const worst = (answers: readonly Answer[]) => Math.max(...answers.map(({ ms }) => ms));
  const all200 = (answers: readonly Answer[]) => answers.every(({ status }) => status === 200);
  say(`figures ${JSON.stringify({ tries, networks, atOnce, tookS: Math.round(tookS), statuses, refused, lines, own })}`);
  return [
    [all200(known), `all ${known.length} sign-ins from the known browser succeed at once, the slowest after ${worst(known)} ms`],
    [
      all200(fresh),
      `all ${fresh.length} sign-ins from new browsers in other networks succeed, the slowest after ${worst(fresh)} ms`,
    ],
    [
      affected.status === 200 && affectedS <= 60,
      `a sign-in from a new browser in an attacking network succeeds within 60 s (${affectedS.toFixed(0)} s)`,
    ],
    [
      own <= affectedS + 1 && counted >= tries && statuses[422] !== undefined,
      `the metric counts all rejected sign-ins (${counted})`,
    ],
    [lines === counted, `the log has a line for each rejected sign-in (${lines})`],
  ];
};

const place = await openPlace(await builtBinary(say), 1, {
  env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1", GENROUTER_OPERATOR__TOKEN: OPERATOR },
});
let [passed, failed] = [0, 0];
try {
  for (const [holds, says] of await play(place)) {
    if (holds) passed += 1;
    else failed += 1;
    say(`${holds ? "(pass)" : "(fail)"} ${says}`);
  }
} finally {
  await place.close();
}
say(`${passed} passed, ${failed} failed`);
killAll();
process.exit(failed === 0 ? 0 : 1);
