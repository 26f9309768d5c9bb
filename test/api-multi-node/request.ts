// The number of nodes for the API scenarios: one, unless a file sets another number before it loads them.
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";

type OpenSeveral = (count: number, options: HarnessOptions) => Promise<Harness>;

let asked = 1;
let openSeveral: OpenSeveral | undefined;
/** Sets the number of nodes. @param open is passed in, so that a run on one node does not load PostgreSQL. */
export const onNodes = (count: number, open: OpenSeveral): void => {
  asked = count;
  openSeveral = open;
};
export const nodesAsked = (): number => asked;
/** Opens a harness with the number of nodes that was set. */
export const openAsked = (options: HarnessOptions): Promise<Harness> => openSeveral?.(asked, options) ?? openHarness(options);
