// Wrong and right deliveries through the whole service: `npm run deliveries -- [--wrong N] [--right N] [--seed N]`; ends with `N passed, N failed`.
import { readFlags, wholeOf } from "../flags.ts";
import { playDeliveries } from "./run.ts";

const HELP = `Orders clips, edits, pictures and sound, has the simulator deliver something else for some of them, and looks at what was charged.

  npm run deliveries                            500 wrong and 5,000 right ones
  npm run deliveries -- --wrong 30 --right 90   a short one

  --wrong N   wrong deliveries                  (500)
  --right N   right ones                        (5000)
  --seed N    where lengths and shares come from (random, printed)
  --lanes N   orders at a time                  (4, and at most: a route is down after five in a row)
  --first     ends with the first that went otherwise than it should`;

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
const { wrong, right, told, byKind } = await playDeliveries(plan, (done) => {
  played = done;
  if (done % 500 === 0) say(`${done} of ${plan.wrong + plan.right}`);
});
/** Of wrong ones at most one in a hundred may be charged, of right ones at most one in a thousand held back. */
const judged: [boolean, string][] = [
  [
    wrong.charged <= wrong.planted / 100,
    `${wrong.planted - wrong.charged} of ${wrong.planted} wrong deliveries were not charged`,
  ],
  [right.held <= right.played / 1000, `${right.held} of ${right.played} right deliveries were held back`],
  [told.length === 0, "each ended as its order says, told with what was wrong"],
];
if (values.first && told[0] !== undefined) say(`(fail) ${told[0]} (${played} runs)`);
for (const [held, what] of judged) say(`${held ? "(pass)" : "(fail)"} ${what}`);
for (const line of told) say(`       ${line}`);
const seconds = Math.round((performance.now() - startedMono) / 1000);
say(`figures ${JSON.stringify({ ...plan, wrong, right, byKind, seconds })}`);
const failed = judged.filter(([held]) => !held).length;
say(`${judged.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
