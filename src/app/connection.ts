// Connection to a component that is constructed later, for components that call each other.

export type Connection<T extends object> = {
  /** Connects the component, once. */
  connect: (target: T) => void;
  /** Returns the component. @throws if it is not connected yet, which is a defect */
  target: () => T;
};

/** @param name of the component, for the error */
export const createConnection = <T extends object>(name: string): Connection<T> => {
  let connected: T | undefined;
  return {
    connect: (target) => {
      if (connected !== undefined) throw new Error(`${name}: is already connected`);
      connected = target;
    },
    target: () => {
      if (connected === undefined) throw new Error(`${name}: is used before it is connected`);
      return connected;
    },
  };
};
