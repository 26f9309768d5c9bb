// The playground form and its code snippets: parsed values, omitted defaults, and snippets without a key.
import { describe, expect, test } from "bun:test";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { GenerationDto } from "../../src/console/generations-dto.ts";
import {
  isUnfinished,
  type Rows,
  withPage,
  withPending,
  withUpdate,
  withUpdates,
} from "../../web/console/generations/live-rows.ts";
import { fieldsOf, inputOf, missingOf, startValues, titleOf, valuesFrom } from "../../web/console/playground/form.ts";
import { SNIPPETS } from "../../web/console/playground/snippets.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";

const entry = (id: string): ModelEntry => {
  const model = sampleCatalogue().model(id);
  if (!model) throw new Error(`no model ${id}`);
  return modelEntry(model, () => true);
};

describe("a form", () => {
  test("has an editable field for every option of every model", () => {
    for (const { id } of sampleCatalogue().models) {
      const fields = fieldsOf(entry(id));
      expect(fields.map(({ name }) => name)).toEqual(Object.keys(entry(id).options));
      for (const { name, kind } of fields) if (name.includes("_url")) expect(["link", "links"]).toContain(kind);
    }
    expect(titleOf("end_image_url")).toBe("End image");
    expect(titleOf("image_urls")).toBe("Images");
    expect(titleOf("mask_url")).toBe("Mask");
  });

  test("sends the voice, and a speed with decimals as a number", () => {
    const model = entry("sim-speech-1");
    const kinds = Object.fromEntries(fieldsOf(model).map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({ voice: "choice", language: "choice", speed: "range", output_format: "choice" });
    const values = { ...startValues(model), prompt: "one", voice: "alto", speed: "1.25", output_format: "flac" };
    expect(inputOf(model, values)).toEqual({ prompt: "one", voice: "alto", speed: 1.25, output_format: "flac" });
  });

  test("parses numbers, switches and lists, and omits empty fields and defaults", () => {
    const model = entry("vidmodel-2.0-fast");
    const values = {
      ...startValues(model),
      prompt: "a kite",
      duration: "7",
      audio: "true",
      image_urls: " https://a/1 \n\n https://a/2",
    };
    expect(inputOf(model, values)).toEqual({
      prompt: "a kite",
      duration: 7,
      audio: true,
      image_urls: ["https://a/1", "https://a/2"],
    });
    expect(inputOf(model, startValues(model))).toEqual({});
    expect(inputOf(model, { duration: "seven" })).toEqual({ duration: "seven" });
    expect([missingOf(model, {}), missingOf(model, { prompt: " \n" }), missingOf(model, { prompt: "x" })]).toEqual([
      ["prompt"],
      ["prompt"],
      [],
    ]);
  });

  test("filled from a request returns the same request", () => {
    const model = entry("vidmodel-2.0-fast");
    const input = { prompt: "a kite", duration: 7, audio: true, image_urls: ["https://a/1", "https://a/2"] };
    expect(inputOf(model, valuesFrom(model, input))).toEqual(input);
  });
});

test("code snippets send the request for any prompt, and read the key from the environment", async () => {
  const ask = { model: "m", input: { prompt: `it's "true" \\ $HOME \`x\` null`, audio: true, seed: 1 } };
  const texts = Object.fromEntries(SNIPPETS.map(({ id, of }) => [id, of("https://here", ask)]));
  for (const text of Object.values(texts)) expect(text).toContain("GENROUTER_API_KEY");
  // Runs the snippet in bash to see what it sends.
  const script = `curl() { printf '%s' "\${@: -1}"; }; uuidgen() { :; }; ${texts.curl}`;
  const { stdout } = Bun.spawnSync(["bash", "-c", script]);
  expect(JSON.parse(stdout.toString())).toEqual(ask);
  expect(texts.python).toContain('"audio": True');
  expect(texts.python).toContain(JSON.stringify(ask.input.prompt));
  new Bun.Transpiler({ loader: "ts" }).scan(texts.typescript ?? "");
});

test("updates rows in place and holds new rows while the pointer is over the list", () => {
  const row = (id: string, status = "queued") => ({ id, status, attempts: 1, completedAtMs: null }) as GenerationDto;
  let rows: Rows = { shown: [row("b"), row("a")], held: [] };
  rows = withUpdates(rows, row("a", "running"));
  expect(rows.shown).toEqual([row("b"), row("a", "running")]);
  rows = withPage(rows, [row("c"), row("b", "failed")], true);
  expect(rows).toEqual({ shown: [row("b", "failed"), row("a", "running")], held: [row("c")] });
  rows = withPage(rows, [row("d"), row("c", "running")], true);
  expect(rows.held).toEqual([row("d"), row("c", "running")]);
  expect(withPending(rows).shown.map(({ id }) => id)).toEqual(["d", "c", "b", "a"]);
  expect(withPage(rows, [row("e")], false).shown.map(({ id }) => id)).toEqual(["e", "d", "c", "b", "a"]);
});

test("never replaces a row by an older update when responses and events arrive out of order", () => {
  const reported = (attempts: number, completedAtMs: number | null, more: Partial<GenerationDto> = {}) =>
    ({ id: "a", status: completedAtMs === null ? "running" : "succeeded", attempts, completedAtMs, ...more }) as GenerationDto;
  const [first, second, ended] = [reported(1, null), reported(2, null), reported(2, 9, { files: [] })];
  for (const [known, late] of [
    [second, first],
    [ended, second],
    [ended, first],
  ] as const) {
    expect(withUpdate(known, late)).toEqual(known);
    expect(withUpdates({ shown: [known], held: [] }, late).shown).toEqual([known]);
    expect(withPage({ shown: [known], held: [] }, [late], false).shown).toEqual([known]);
  }
  expect(withUpdate(first, ended)).toEqual(ended);
  expect(
    [first, ended, reported(2, 9, { files: [{ n: 1 } as never] }), reported(2, 9, { files: [], areFilesGone: true })].map(
      isUnfinished,
    ),
  ).toEqual([true, true, false, false]);
});
