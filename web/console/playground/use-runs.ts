// The submissions of the playground: one generation for each model and variant, followed by events until its files are there.
import { useCallback, useRef, useState } from "preact/hooks";
import type { GenerationDetail, GenerationDto } from "../../../src/console/generations-dto.ts";
import type { JsonObject } from "../../../src/domain/types.ts";
import { call, errorText, Fault } from "../../components/api.ts";
import { useEvents } from "../generations/event-stream.ts";
import { isUnfinished, withUpdate } from "../generations/live-rows.ts";

export type Order = { model: string; input: JsonObject; expectedS: number | null };
/** `generation`: null until the submission was accepted, or if it was refused. */
export type RunItem = {
  key: string;
  order: Order;
  /** When it was submitted, by the clock of the browser. */
  submittedAtMs: number;
  generation: GenerationDto | GenerationDetail | null;
  fault: { text: string; code: string } | null;
};
export type Run = { key: string; items: readonly RunItem[] };

const PATH = "/console/api/generations";

const changed = (runs: readonly Run[], change: (item: RunItem) => RunItem): Run[] =>
  runs.map((run) => ({ ...run, items: run.items.map(change) }));

const withNews = (item: RunItem, news: Parameters<typeof withUpdate>[1]): RunItem =>
  item.generation === null ? item : { ...item, generation: withUpdate(item.generation, news) };

export const useRuns = () => {
  const [runs, setRuns] = useState<readonly Run[]>([]);
  // A key is kept until a response arrives, so that the repetition of a submission with a lost response is not charged twice.
  const keys = useRef(new Map<string, string>());

  const put = useCallback((one: GenerationDto) => {
    setRuns((all) => changed(all, (item) => withNews(item, one)));
  }, []);
  const read = useCallback(
    (id: string): void => void call<GenerationDetail>("GET", `${PATH}/${id}`).then(put, () => undefined),
    [put],
  );
  const known = runs.flatMap(({ items }) => items.flatMap(({ generation }) => generation ?? []));
  useEvents(null, {
    generation: (news) => {
      setRuns((all) => changed(all, (item) => withNews(item, news)));
      if (known.some(({ id }) => id === news.id)) read(news.id);
    },
    again: () => {
      for (const one of known) if (isUnfinished(one)) read(one.id);
    },
  });

  /** @returns the refusal, if the submission was refused */
  const submit = async (item: RunItem, n: number): Promise<Fault | undefined> => {
    const { model, input } = item.order;
    const text = JSON.stringify({ model, input, n });
    const key = keys.current.get(text) ?? crypto.randomUUID();
    keys.current.set(text, key);
    try {
      const headers = { "idempotency-key": key };
      const generation = await call<GenerationDto>("POST", PATH, { model, input }, { headers });
      keys.current.delete(text);
      setRuns((all) => changed(all, (one) => (one.key === item.key ? { ...one, generation } : one)));
      // Read once, because events may have been sent before this page subscribed.
      read(generation.id);
      return undefined;
    } catch (thrown) {
      const fault = thrown instanceof Fault ? thrown : new Fault(0, "unclear", errorText(thrown));
      setRuns((all) =>
        changed(all, (one) => (one.key === item.key ? { ...one, fault: { text: fault.message, code: fault.code } } : one)),
      );
      return fault;
    }
  };

  /** Submits all orders at once, as one run. A run without a generation is not shown. @returns the first refusal */
  const start = async (orders: readonly Order[]): Promise<Fault | undefined> => {
    const items = orders.map(
      (order): RunItem => ({
        ...{ key: crypto.randomUUID(), order, submittedAtMs: Date.now() },
        ...{ generation: null, fault: null },
      }),
    );
    const run = { key: crypto.randomUUID(), items };
    setRuns((all) => [run, ...all]);
    const faults = await Promise.all(items.map(submit));
    if (faults.every((fault) => fault !== undefined)) setRuns((all) => all.filter(({ key }) => key !== run.key));
    return faults.find((fault) => fault !== undefined);
  };
  return { runs, start, read };
};
