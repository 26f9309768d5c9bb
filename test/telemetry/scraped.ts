// Parses the output of /metrics into names, labels and values.

export type Sample = { name: string; labels: Record<string, string>; value: number };

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

const unescaped = (text: string) => text.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));

/** All samples. @throws for a line that is no sample. */
export const samplesIn = (text: string): Sample[] =>
  text.split("\n").flatMap((line) => {
    if (line === "" || line.startsWith("#")) return [];
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", text = ""]) => [label, unescaped(text)]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });

/** The declared types by metric name. */
export const typesIn = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));

export type Scraped = {
  text: string;
  samples: Sample[];
  /** The sum of the samples of this name that have at least these labels; undefined if there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
};

export const scraped = (text: string): Scraped => {
  const samples = samplesIn(text);
  return {
    text,
    samples,
    value: (name, labels = {}) => {
      const found = samples.filter(
        (sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
};
