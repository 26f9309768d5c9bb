// The scenarios of ../api/extended.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/extended.test.ts"));
