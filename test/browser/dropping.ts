// Drops and pastes files in a page, as a person does from the desktop.
import type { Locator } from "playwright-core";

export type GivenFile = { name: string; type: string; bytes: Uint8Array };

/** Dispatches `drop` or `paste` with the files. Their bytes pass through the page's own event handlers. */
export const give = async (target: Locator, how: "drop" | "paste", files: readonly GivenFile[]): Promise<void> => {
  const sent = files.map(({ name, type, bytes }) => ({ name, type, text: Buffer.from(bytes).toString("base64") }));
  await target.evaluate(
    (element, [kind, all]) =>
      (globalThis as unknown as { inPage: { give: (...given: unknown[]) => void } }).inPage.give(element, kind, all),
    [how, sent] as const,
  );
};
