// The ten defects that were read in peers' code, and the promise here that each would break: every one is held by a test.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

type Row = {
  defect: string;
  peers: string;
  /** Files of tests, each with words of the test that would fail. */
  heldBy: readonly (readonly [file: string, ...words: string[]])[];
};

const ROWS: readonly Row[] = [
  {
    defect: "D1",
    peers: "the provider is paid before anything is written down",
    heldBy: [
      ["test/crash/points.ts", "after C, before bytes leave", "after bytes, before the answer", "answer read, before D"],
      ["test/crash/points.test.ts", "for (const point of POINTS)"],
    ],
  },
  {
    defect: "D2",
    peers: "generations are failed in bulk and nothing is given back",
    heldBy: [
      ["test/store/violations.ts", "the generation does not have exactly one settlement of its whole hold, at its end"],
      ["test/generation/catalogue-change.test.ts", "every route left is removed: the attempts that were made have failed"],
    ],
  },
  {
    defect: "D3",
    peers: "the end and the refund are two transactions",
    heldBy: [["test/crash/points.test.ts", "all of it is there or nothing"]],
  },
  {
    defect: "D4",
    peers: "a poll by the user can fail a generation",
    heldBy: [
      [
        "test/generation/poll.test.ts",
        "waiting writes nothing: neither polls of the API nor polls of the provider make a commit",
      ],
    ],
  },
  {
    defect: "D5",
    peers: "a poll answer that is not understood is a failure",
    heldBy: [["test/hardening/unknown-poll.test.ts", "is asked on, delivers, and is charged once", "nothing has failed"]],
  },
  {
    defect: "D6",
    peers: "five poll errors are a failure",
    heldBy: [["test/hardening/poll-outage.test.ts", "the job delivers, and is charged once"]],
  },
  {
    defect: "D7",
    peers: "jobs of one route are polled one after the other",
    heldBy: [["test/hardening/poll-lag.test.ts", "their ends are noticed within seconds, their polls stay spread"]],
  },
  {
    defect: "D8",
    peers: "a download is cut off after a minute, and the upstream's headers are copied",
    heldBy: [["test/hardening/slow-download.test.ts", "that take five minutes to come are collected", "const ALLOWED"]],
  },
  {
    defect: "D9",
    peers: "a whole clip is held in memory",
    heldBy: [["test/hardening/parallel-downloads.test.ts", "two hundred slow downloads of a large file at once"]],
  },
  {
    defect: "D10",
    peers: "a submission is sent again after a server error",
    heldBy: [
      ["test/hardening/single-send.test.ts", "sent once, whatever follows"],
      ["test/providers/providers.test.ts", "and is sent once"],
      ["test/providers/call.test.ts", "which is not sent again"],
    ],
  },
];

test("all ten are here", () => {
  expect(ROWS.map(({ defect }) => defect)).toEqual(Array.from({ length: 10 }, (_, n) => `D${n + 1}`));
});

for (const { defect, peers, heldBy } of ROWS)
  test(`${defect}, ${peers}: the tests that would fail are there`, () => {
    for (const [file, ...words] of heldBy) {
      const text = readFileSync(join(root, file), "utf8");
      expect(words.filter((said) => !text.includes(said))).toEqual([]);
    }
  });
