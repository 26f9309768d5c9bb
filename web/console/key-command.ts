// The command that tries out a new key: a picture of the cheapest model, or a list for a key that may only read.
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { KeyView } from "../../src/console/keys-dto.ts";

type Model = Pick<ModelEntry, "id" | "kind" | "options" | "price">;
type Key = { origin: string; key: string } & Pick<KeyView, "scope" | "models">;

const needsOnlyPrompt = ({ options }: Model): boolean =>
  options.prompt !== undefined && Object.entries(options).every(([name, { required }]) => name === "prompt" || required !== true);

/** Pictures first, because they take seconds and cents; then by the lowest price. */
const rank = ({ kind, price }: Model): number =>
  (kind === "image" ? 0 : 1e6) + price.rates.reduce((least, { usd }) => Math.min(least, usd), 1e5);

/** `spends`: whether the command spends credits. */
export const commandOf = ({ origin, key, scope, models }: Key, known: readonly Model[]): { text: string; spends: boolean } => {
  const [model] = known
    .filter((one) => (models === null || models.includes(one.id)) && needsOnlyPrompt(one))
    .sort((a, b) => rank(a) - rank(b));
  const authorization = `-H "Authorization: Bearer ${key}"`;
  if (scope === "read" || !model) return { text: `curl ${origin}/v1/generations \\\n  ${authorization}`, spends: false };
  const lines = [
    `curl ${origin}/v1/generations`,
    authorization,
    '-H "Content-Type: application/json"',
    '-H "Prefer: wait=30"',
    `-d '${JSON.stringify({ model: model.id, input: { prompt: "a tin robot" } })}'`,
  ];
  return { text: lines.join(" \\\n  "), spends: true };
};
