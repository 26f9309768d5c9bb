// Component list: starts components in order and stops them in the reverse order in which they began to run.

/**
 * A part of the service. A component without `start` runs from its construction on, so it is stopped even if the list never
 * started. One with `start` is stopped only if its start succeeded.
 */
export type Component = {
  name: string;
  start?: () => void | Promise<void>;
  stop?: () => unknown;
};

export type ComponentList = {
  /** @throws after the start, because the component would never start, which is a defect */
  add: (component: Component) => void;
  /**
   * Starts in order. @throws the error of the first start that fails, after everything that runs has been stopped; an error if the
   * list was stopped meanwhile
   */
  start: () => Promise<void>;
  /**
   * Stops in the reverse order in which components began to run, each once and after the one before it has stopped. A start in progress ends first, and starts
   * nothing more. Every call returns the same promise.
   * @throws the first error of a stop, after all components were stopped
   */
  stop: () => Promise<void>;
};

export const createComponentList = (): ComponentList => {
  const toStart: Component[] = [];
  /** Components to stop, in the order in which they began to run. */
  const running: Component[] = [];
  let starting: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;

  const stopRunning = async (): Promise<void> => {
    const faults: unknown[] = [];
    for (let last = running.pop(); last !== undefined; last = running.pop())
      try {
        await last.stop?.();
      } catch (fault) {
        faults.push(fault);
      }
    if (faults.length > 0) throw faults[0];
  };
  const startAdded = async (): Promise<void> => {
    for (let next = toStart.shift(); next !== undefined; next = toStart.shift())
      try {
        await next.start?.();
        running.push(next);
      } catch (fault) {
        // The caller reports why the start failed; errors of the stop are its consequences.
        await stopRunning().catch(() => undefined);
        throw fault;
      }
    if (stopping) throw new Error("the service was stopped during its start");
  };
  const stopAll = async (): Promise<void> => {
    toStart.length = 0;
    await starting?.catch(() => undefined);
    await stopRunning();
  };
  return {
    add: (component) => {
      if (starting) throw new Error(`${component.name}: is added after the start`);
      (component.start === undefined ? running : toStart).push(component);
    },
    start: () => {
      starting ??= startAdded();
      return starting;
    },
    stop: () => {
      stopping ??= stopAll();
      return stopping;
    },
  };
};
