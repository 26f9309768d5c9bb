// The scenarios of ../api/races.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/races.test.ts"));
