// Ten defects found in the code of similar services, and the tests here that would detect each.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

type Row = {
  defect: string;
  /** Test files, each with parts of the titles or code that would fail. */
  heldBy: readonly (readonly [file: string, ...words: string[]])[];
};

const ROWS: readonly Row[] = [
  {
    defect: "the provider is paid before anything is stored",
    heldBy: [
      ["test/crash/points.ts", "after C, before bytes leave", "bytes sent, before the response", "response read, before D"],
      ["test/crash/points.test.ts", "points of a crash"],
    ],
  },
  {
    defect: "generations are failed in bulk and no hold is released",
    heldBy: [
      ["test/store/violations.ts", "the generation does not have exactly one settlement of its whole hold, at its end"],
      [
        "test/generation/catalogue-change.test.ts",
        "fails with provider_failed when every remaining route is removed after a failed attempt",
      ],
    ],
  },
  {
    defect: "completion and refund are two transactions",
    heldBy: [["test/crash/points.ts", "all of it is stored or nothing"]],
  },
  {
    defect: "a poll by the client can fail a generation",
    heldBy: [["test/generation/poll.test.ts", "commits nothing for polls of the API or polls of the provider"]],
  },
  {
    defect: "an unknown poll response is a failure",
    heldBy: [["test/hardening/unknown-poll.test.ts", "continues to poll, delivers and charges once", "is unclear or pending"]],
  },
  {
    defect: "five poll errors are a failure",
    heldBy: [["test/hardening/poll-outage.test.ts", "the job delivers and is charged once"]],
  },
  {
    defect: "jobs of one route are polled sequentially",
    heldBy: [["test/hardening/poll-lag.test.ts", "ends are detected within seconds and polls stay evenly spread"]],
  },
  {
    defect: "a download is aborted after one minute, and the headers of the provider are copied",
    heldBy: [
      ["test/hardening/slow-download.test.ts", "collects a result of 240 MB that arrives within five minutes", "const ALLOWED"],
    ],
  },
  {
    defect: "a whole file is kept in memory",
    heldBy: [["test/hardening/parallel-downloads.test.ts", "two hundred concurrent slow downloads of a large file"]],
  },
  {
    defect: "a submission is resent after a server error",
    heldBy: [
      ["test/hardening/single-send.test.ts", "sends the submission once"],
      ["test/providers/providers.test.ts", "and sends one request"],
      ["test/providers/call.test.ts", "and does not resend it"],
    ],
  },
];

test("the table of defects has ten different rows", () => {
  expect(new Set(ROWS.map(({ defect }) => defect)).size).toBe(10);
});

for (const { defect, heldBy } of ROWS)
  test(`the tests that detect this defect exist: ${defect}`, () => {
    for (const [file, ...words] of heldBy) {
      const text = readFileSync(join(root, file), "utf8");
      expect(words.filter((said) => !text.includes(said))).toEqual([]);
    }
  });
