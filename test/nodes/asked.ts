// How many nodes the scenarios of the API run on: one, unless a file asks for more before it loads them.
import { type House, type HouseOptions, openHouse } from "../house.ts";
import { openHouseOfNodes } from "../house-of-nodes.ts";

let asked = 1;
/** Runs what `load` defines on so many nodes. */
export const onNodes = (count: number): void => {
  asked = count;
};
export const nodesAsked = (): number => asked;
/** A house of as many nodes as were asked for. */
export const openAsked = (options: HouseOptions): Promise<House> =>
  asked > 1 ? openHouseOfNodes(asked, options) : openHouse(options);
