// The scenarios of ../api/load.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/load.test.ts"));
