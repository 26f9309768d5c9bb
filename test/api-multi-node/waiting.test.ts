// The scenarios of ../api/waiting.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/waiting.test.ts"));
