// Templates of dialect files: placeholders, filters, operators, omitted values, and faults with their location.
import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/domain/types.ts";
import { DialectError } from "../../../src/providers/dialect/placeholders.ts";
import { templateReading } from "../../../src/providers/dialect/template.ts";

const KNOWN = ["input", "route", "ref"];
const SCOPE = {
  input: {
    prompt: "a fox {not a name} in snow",
    duration: 5,
    audio: false,
    images: ["https://in/a.png", "https://in/b.png"],
    ratio: "adaptive",
    nothing: null,
  },
  route: {
    endpoint: "maker/model",
    sizes: { "720p 16:9": "1280:720" },
    word: "1280x720",
    picture: "https://in/a.b/c.JPG?x=1.png#y",
    clip: "https://in/c.mp4",
  },
  ref: "abc-1",
};
const fill = (template: Json) => templateReading(template, KNOWN)(SCOPE);
const faultOf = (template: Json): string => {
  try {
    templateReading(template, KNOWN);
  } catch (fault) {
    if (fault instanceof DialectError) return fault.message;
    throw fault;
  }
  return "none";
};

describe("the template", () => {
  const CASES: [template: string, written: Json | undefined][] = [
    ["as it is", "as it is"],
    ["", ""],
    ["{input.prompt}", "a fox {not a name} in snow"],
    ["{input.duration}", 5],
    ["{input.audio}", false],
    ["{input.images}", ["https://in/a.png", "https://in/b.png"]],
    ["{input.duration}s", "5s"],
    ["{route.endpoint}/{ref}", "maker/model/abc-1"],
    ["{input.missing}", undefined],
    ["{input.nothing}", undefined],
    ["{input.duration.deeper}", undefined],
    ["{input.missing}s", undefined],
    ["{input.images}s", undefined],
    ["{input.duration|string}", "5"],
    ["{input.prompt|int}", undefined],
    ["{input.duration|times:1000}", 5000],
    ["{route.word|before:x|int}", 1280],
    ["{route.word|after:x|int}", 720],
    ["{route.word|after:z}", undefined],
    ["{input.prompt|mime:image/png}", "image/png"],
    ["{route.picture|mime:image/png}", "image/jpeg"],
    ["{route.clip|mime:image/png}", "video/mp4"],
    ["{input.missing|mime:image/png}", undefined],
    ["{input.ratio|upper}", "ADAPTIVE"],
    ["{input.images|first}", "https://in/a.png"],
    ["{input.missing|else:false}", false],
    ["{input.missing|else:none}", "none"],
    ["{input.audio|else:true}", false],
    ["{input.missing|string|else:0}", 0],
  ];
  for (const [template, written] of CASES)
    test(`${template || "of an empty string"} becomes ${JSON.stringify(written)}`, () =>
      expect(fill(template)).toEqual(written as never));
});

describe("an object or a list", () => {
  test("omits members and items without a value", () =>
    expect(fill({ a: "{input.missing}", b: 1, c: null, d: ["{input.missing}", "{ref}"] })).toEqual({
      b: 1,
      c: null,
      d: ["abc-1"],
    }));
  test("is omitted if nothing of it is left", () =>
    expect(fill({ a: { b: "{input.missing}" }, c: ["{input.missing}"], d: 1 })).toEqual({ d: 1 }));
  test("that is empty in the template stays", () => expect(fill({ a: {}, b: [] })).toEqual({ a: {}, b: [] }));
});

describe("the operator", () => {
  const CASES: [name: string, template: Json, written: Json | undefined][] = [
    [
      "$each fills its template for each item",
      { $each: "input.images", as: { url: "{item}" } },
      [{ url: "https://in/a.png" }, { url: "https://in/b.png" }],
    ],
    ["$each treats a single value as a list", { $each: "ref", as: "<{item}>" }, ["<abc-1>"]],
    ["$each of a missing value is omitted", { $each: "input.missing", as: { type: "text" } }, undefined],
    ["$when returns then if the condition holds", { $when: "input.images", then: 1, else: 2 }, 1],
    ["$when returns else if the condition does not hold", { $when: "input.missing", then: 1, else: 2 }, 2],
    ["$when without else is omitted if the condition does not hold", { $when: "input.missing", then: 1 }, undefined],
    ["$when compares the number of items", { $when: { value: "input.images", count: [2, 3] }, then: 1, else: 2 }, 1],
    ["$when counts a missing value as 0 items", { $when: { value: "input.missing", count: [1, 9] }, then: 1, else: 2 }, 2],
    ["$when compares a value with a list", { $when: { value: "input.ratio", is: ["adaptive", "1:1"] }, then: 1, else: 2 }, 1],
    ["$when negates with not", { $when: { not: "input.images" }, then: 1, else: 2 }, 2],
    ["$when needs every condition of all", { $when: { all: ["input.images", "input.missing"] }, then: 1, else: 2 }, 2],
    ["$when needs one condition of any", { $when: { any: ["input.missing", "input.images"] }, then: 1, else: 2 }, 1],
    [
      "$concat joins lists and items",
      { $concat: ["{input.images}", ["{ref}"], "{input.missing}", "x"] },
      ["https://in/a.png", "https://in/b.png", "abc-1", "x"],
    ],
    ["$concat of missing values is omitted", { $concat: ["{input.missing}"] }, undefined],
    ["$merge merges objects, and later members win", { $merge: [{ a: 1, b: 1 }, { b: 2 }, "{input.missing}"] }, { a: 1, b: 2 }],
    ["$map returns the row of a value", { $map: "{input.ratio}", rows: { adaptive: "auto" } }, "auto"],
    ["$map returns a row of a table of the route", { $map: "720p 16:9", rows: "route.sizes" }, "1280:720"],
    ["$map keeps a value without a row", { $map: "{input.ratio}", rows: { other: 1 } }, "adaptive"],
    ["$map returns else for a value without a row", { $map: "{input.ratio}", rows: {}, else: "none" }, "none"],
    ["$map of a missing value is omitted", { $map: "{input.missing}", rows: { undefined: 1 }, else: 2 }, undefined],
    ["$map ignores inherited object members", { $map: "constructor", rows: {} }, "constructor"],
    ["$json returns its value unchanged", { $json: { a: "{input.prompt}", $each: 1 } }, { a: "{input.prompt}", $each: 1 }],
  ];
  for (const [name, template, written] of CASES) test(name, () => expect(fill(template)).toEqual(written as never));
});

describe("the fault", () => {
  const CASES: [template: Json, reported: string][] = [
    [{ a: [{ b: "{inptu.prompt}" }] }, '/a/0/b: "inptu" is not a known value; allowed are input, route, ref'],
    [
      "{input.prompt|shout}",
      '"|shout" is not a filter; allowed are string, int, number, upper, lower, first, before, after, times, iso, unix, mime, base64, else',
    ],
    ["{input.duration|times}", "|times needs an argument"],
    ["{input.duration|times:x}", "|times needs a number"],
    ["{input.duration|int:4}", "|int takes no argument"],
    ["{input.duration|else}", "|else needs a value"],
    ["{input.prompt", '"{input.prompt" has an unmatched brace'],
    ["{Input}", '"Input" is not the name of a value'],
    [{ a: { $eahc: "x" } }, "/a: $eahc is not an operator; allowed are $each, $when, $concat, $merge, $map, $json"],
    [{ $each: "input.images" }, "$each needs as"],
    [{ $each: "item", as: 1 }, '"item" is not a known value; allowed are input, route, ref'],
    [{ $when: "ref", then: 1, otherwise: 2 }, "otherwise is not allowed with $when; allowed are $when, then, else"],
    [{ $when: { value: "ref", count: [3, 1] }, then: 1 }, "/$when: count: 3 to 1 is not a range"],
    [{ $concat: "x" }, "/$concat: must be a list"],
    [{ $map: "{ref}", rows: 1 }, "rows must be an object or the name of an object"],
  ];
  for (const [template, reported] of CASES)
    test(`of ${JSON.stringify(template)} is reported with its location`, () => expect(faultOf(template)).toBe(reported));
});
