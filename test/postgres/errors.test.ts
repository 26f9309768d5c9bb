// Provider texts with characters that PostgreSQL rejects in JSON are stored with U+FFFD instead and stay readable.
import { expect, test } from "bun:test";
import { detailOf, isGivenUrl } from "../../src/providers/parse-response.ts";
import { admit, openAccount, startedMutation, stepMutation } from "../store/fixture.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

onPostgres("provider texts", () => {
  checkNodes();

  test("with an unpaired surrogate or NUL are stored with U+FFFD, pass verify, and are read by other nodes", async () => {
    const { nodes } = await openNodes({}, {});
    const [node, other] = nodes;
    const mutation = await admit(node, await openAccount(node, 1000));
    await node.commit([startedMutation(mutation)]);
    const said = { type: "answerLost", n: 1, detail: "bad \ud800 and \0 and \u{1f98a} and \\ud800" };
    const outcomes = await node.commit([stepMutation(mutation.seq, 2, { event: said })]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["stepped"]);
    const lines = await other.node?.others.steps([{ seq: mutation.seq, version: 1 }], true);
    expect(lines?.map(({ event }) => event)).toEqual([{ ...said, detail: "bad \ufffd and \ufffd and \u{1f98a} and \\ud800" }]);
  });

  test("are truncated between characters, and URLs with control characters are rejected", () => {
    for (let length = 190; length < 200; length += 1)
      expect(detailOf(500, "x".repeat(length) + "\u{1f98a}".repeat(10)).isWellFormed()).toBe(true);
    expect(isGivenUrl("https://example.com/a.mp4")).toBe(true);
    for (const sign of ["\0", "\u0007", "\u007f"]) expect(isGivenUrl(`https://example.com/${sign}.mp4`)).toBe(false);
  });
});
