// The scenarios of ../api/described.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/described.test.ts"));
