// The scenarios of ../api/fixed-defects.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/fixed-defects.test.ts"));
