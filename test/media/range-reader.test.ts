// Range reader: requests the whole file when the server omits its size.
import { expect, test } from "bun:test";
import { createRangeReader, READ_BUDGET } from "../../src/media/range-reader.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(60_000));
const noSpool = () => Promise.reject(new Error("a file of this size is kept in memory"));
const unsized = () => new Response(BYTES.slice(0, 100), { status: 206, headers: { "content-range": "bytes 0-99/*" } });

const open = (answer: (isRange: boolean) => Response) => {
  const asked: (string | undefined)[] = [];
  const remote = createRangeReader(
    async ({ Range }) => {
      asked.push(Range);
      return { kind: "answered", response: answer(Range !== undefined) };
    },
    noSpool,
    READ_BUDGET,
  );
  return { asked, remote };
};

test("requests and reads the whole file when the server sends a range without the total size", async () => {
  const { asked, remote } = open((isRange) => (isRange ? unsized() : new Response(BYTES)));
  const file = await remote;
  expect(await file.sizeBytes()).toBe(BYTES.length);
  expect(await file.read(50_000, 60_000)).toEqual(BYTES.slice(50_000));
  expect(asked).toEqual([expect.stringContaining("bytes=0-"), undefined]);
  await file.close();
});

test("rejects a server that sends a range that was not requested", async () => {
  const { asked, remote } = open(unsized);
  expect(await remote.catch((error: Error) => error.message)).toBe("its server answers ranges wrongly");
  expect(asked).toHaveLength(2);
});
