// How many nodes the scenarios of the API run on: one, unless a file asks for more before it loads them.
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";

type OpenSeveral = (count: number, options: HarnessOptions) => Promise<Harness>;

let asked = 1;
let openSeveral: OpenSeveral | undefined;
/** Runs what `load` defines on so many nodes. @param open is given, so that whoever runs on one loads no PostgreSQL. */
export const onNodes = (count: number, open: OpenSeveral): void => {
  asked = count;
  openSeveral = open;
};
export const nodesAsked = (): number => asked;
/** A harness of as many nodes as were asked for. */
export const openAsked = (options: HarnessOptions): Promise<Harness> => openSeveral?.(asked, options) ?? openHarness(options);
