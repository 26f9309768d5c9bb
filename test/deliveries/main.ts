// Program of `npm run deliveries -- [--wrong N] [--right N] [--seed N]`: wrong and right deliveries through the whole service.
// The last line of its output is `N passed, N failed`.
import { readFlags, wholeOf } from "../flags.ts";
import { playDeliveries } from "./run.ts";

const HELP = `Orders clips, edits, images and audio, makes the simulator deliver something else for some of them, and compares the charges.

  npm run deliveries                            500 wrong and 5,000 right deliveries
  npm run deliveries -- --wrong 30 --right 90   a short run

  --wrong N   wrong deliveries                  (500)
  --right N   right deliveries                  (5000)
  --seed N    seed of lengths and shares        (random, printed)
  --lanes N   concurrent orders                 (4, the maximum: a route is down after five failures in a row)
  --first     stops after the first failure`;

const values = readFlags({
  wrong: { type: "string", default: "500" },
  right: { type: "string", default: "5000" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  lanes: { type: "string", default: "4" },
  first: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const plan = {
  ...{ wrong: wholeOf("wrong", values.wrong), right: wholeOf("right", values.right) },
  ...{ seed: wholeOf("seed", values.seed, 0), lanes: wholeOf("lanes", values.lanes), endsEarly: values.first },
};
say(`seed ${plan.seed}, ${plan.wrong} wrong, ${plan.right} right`);
const startedMono = performance.now();
let played = 0;
const { wrong, right, reported, byKind } = await playDeliveries(plan, (done) => {
  played = done;
  if (done % 500 === 0) say(`${done} of ${plan.wrong + plan.right}`);
});
/** At most 1 % of the wrong deliveries may be charged, and at most 0.1 % of the right ones rejected. */
const judged: [boolean, string][] = [
  [
    wrong.charged <= wrong.planted / 100,
    `${wrong.planted - wrong.charged} of ${wrong.planted} wrong deliveries were not charged`,
  ],
  [right.held <= right.played / 1000, `${right.held} of ${right.played} right deliveries were rejected`],
  [reported.length === 0, "each generation ended as its order expects, with the right mismatch"],
];
if (values.first && reported[0] !== undefined) say(`(fail) ${reported[0]} (${played} runs)`);
for (const [held, what] of judged) say(`${held ? "(pass)" : "(fail)"} ${what}`);
for (const line of reported) say(`       ${line}`);
const seconds = Math.round((performance.now() - startedMono) / 1000);
say(`figures ${JSON.stringify({ ...plan, wrong, right, byKind, seconds })}`);
const failed = judged.filter(([held]) => !held).length;
say(`${judged.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
