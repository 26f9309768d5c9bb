// Times of people's pages in words, in the reader's own language and zone.

export const timeText = (ms: number): string =>
  new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
