// The scenarios of ../api/codes.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/codes.test.ts"));
