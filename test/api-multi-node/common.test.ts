// The scenarios of ../api/common.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/common.test.ts"));
