// Component list: starts components in order and stops them in reverse.

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
  add: (component: Component) => void;
  /** Starts in order. @throws the error of the first start that fails, after everything that runs has been stopped */
  start: () => Promise<void>;
  /**
   * Stops in reverse, each component once and after the one before it has stopped. A second call waits for nothing new.
   * @throws the first error of a stop, after all components were stopped
   */
  stop: () => Promise<void>;
};

export const createComponentList = (): ComponentList => {
  const added: Component[] = [];
  /** Components to stop, in the order in which they began to run. */
  const running: Component[] = [];
  const stop = async (): Promise<void> => {
    const faults: unknown[] = [];
    for (let last = running.pop(); last !== undefined; last = running.pop())
      try {
        await last.stop?.();
      } catch (fault) {
        faults.push(fault);
      }
    if (faults.length > 0) throw faults[0];
  };
  return {
    add: (component) => {
      if (component.start === undefined) running.push(component);
      else added.push(component);
    },
    start: async () => {
      for (let next = added.shift(); next !== undefined; next = added.shift())
        try {
          await next.start?.();
          running.push(next);
        } catch (fault) {
          // The caller reports why the start failed; errors of the stop are its consequences.
          await stop().catch(() => undefined);
          throw fault;
        }
    },
    stop,
  };
};
