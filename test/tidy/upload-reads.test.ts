// Code that receives uploads never reads a whole body into memory.
import { expect, test } from "bun:test";
import { read, SOURCES } from "./sources.ts";

/** Methods of a request that collect its whole body. */
const WHOLE_READ = /\.(arrayBuffer|blob|bytes|formData|json|text)\(\)|\breadBody\b/;
const RECEIVING = /^src\/(uploads\/.*|http\/endpoints\/(files|resumable-uploads))\.ts$/;

test("no file of src/uploads, and no endpoint of uploads, reads a whole body", () => {
  const files = SOURCES.filter((path) => RECEIVING.test(path));
  expect(files.length).toBeGreaterThan(4);
  const faults = files.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, at) => (WHOLE_READ.test(line) ? [`${path}:${at + 1} ${line.trim()}`] : [])),
  );
  expect(faults).toEqual([]);
});

test.each(["await request.arrayBuffer()", "request.formData()", "const bytes = await readBody(request);"])(
  "such a line is found: %s",
  (line) => {
    expect(line).toMatch(WHOLE_READ);
  },
);
