// `genrouter explain`: how each route receives the stored files of an input, and why a route cannot.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { openOn } from "../backup/fixture.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

setDefaultTimeout(60_000);

const dir = freshDir();
const PICTURE = "picture.png?width=512&height=512";
let [small, large, result] = ["", "", ""];

beforeAll(async () => {
  const harness = await openOn(dir);
  const bytes = await sampleBytes(harness, PICTURE);
  small = (await uploaded(harness, bytes)).id;
  large = (await uploaded(harness, Buffer.concat([bytes, Buffer.alloc(16 * 1_048_576)]))).id;
  const { id } = await harness.submit("sim-image-1", { prompt: "a robot" });
  await harness.until(id);
  result = `${id}/1`;
  await harness.close();
});
afterAll(dropDirs);

type Row = { route: string; rank: number | null; verdict: string; files_by?: string[] };
const explain = async (image_url: string, links: string) => {
  const env = { GENROUTER_FILES__PROVIDER_LINKS: links, FAL_KEY: "some", OPENAI_API_KEY: "some", REPLICATE_API_TOKEN: "some" };
  const input = JSON.stringify({ prompt: "in oil", image_url });
  const ran = await runHere(["explain", "gpt-image-2", input, "--data", dir, "--json"], env);
  const { routes = [] } = JSON.parse(ran.out || "{}") as { routes?: Row[] };
  return { ...ran, of: (provider: string) => routes.find(({ route }) => route === `gpt-image-2/${provider}`) };
};

test("names the form in which each route receives a stored file where links are off", async () => {
  for (const file of [small, result]) {
    const { of, exit } = await explain(file, "off");
    expect(exit).toBe(0);
    expect([of("fal")?.files_by, of("replicate")?.files_by, of("openai")?.files_by]).toEqual([
      ["upload"],
      ["upload"],
      ["inline"],
    ]);
  }
});

test("names the links where they are on, and states the reason of a route that cannot receive the file", async () => {
  expect((await explain(small, "on")).of("openai")?.files_by).toEqual(["link"]);
  const { of } = await explain(large, "off");
  expect(of("fal")).toMatchObject({ verdict: "planned", files_by: ["upload"] });
  expect(of("openai")).toMatchObject({ rank: null });
  expect(of("openai")?.verdict).toContain(
    "input.image_url: its file cannot be given to the model's provider: the model's provider takes images of at most 15 MB",
  );
  expect(of("openai")?.files_by).toBeUndefined();
});

test("shows the form in its table, and refuses an unknown file", async () => {
  const env = { GENROUTER_FILES__PROVIDER_LINKS: "off", OPENAI_API_KEY: "some" };
  const table = await runHere(["explain", "gpt-image-2", JSON.stringify({ prompt: "x", image_url: small }), "--data", dir], env);
  expect(table.out).toContain("planned; its files by inline");
  const unknown = await runHere(
    ["explain", "gpt-image-2", JSON.stringify({ prompt: "x", image_url: "file_0" }), "--data", dir],
    env,
  );
  expect([unknown.exit, unknown.err]).toEqual([6, expect.stringContaining("input.image_url: no stored file has the id file_0")]);
});
