// The scenarios of ../api/order.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/order.test.ts"));
